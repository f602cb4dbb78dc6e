"""Arrays in large pages, whose place changes between rounds, and what is in them."""

import mmap
import re

import numpy

LARGE_PAGE = 2 << 20
LINE = 64


def large_pages(count, dtype=numpy.float32):
    """Zeros that begin with a large page; all of it has been touched."""
    size = max(count, 1) * numpy.dtype(dtype).itemsize
    # A shared mapping, which is what Python makes if it is not told, has small pages as a rule.
    memory = mmap.mmap(-1, size + 2 * LARGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    whole = numpy.frombuffer(memory, numpy.uint8)
    start = -whole.ctypes.data % LARGE_PAGE
    array = whole[start:start + size].view(dtype)[:count]
    array[:] = 0
    return array


def has_large_pages():
    """Whether large_pages() gets them from this system, by what the system says of one array."""
    array = large_pages(16 * LARGE_PAGE, numpy.uint8)
    at, inside = array.ctypes.data, False
    with open("/proc/self/smaps") as file:
        for line in file:
            area = re.match("([0-9a-f]+)-([0-9a-f]+) ", line)
            if area:
                inside = int(area[1], 16) <= at < int(area[2], 16)
            elif inside and line.startswith("AnonHugePages:"):
                return int(line.split()[1]) << 10 >= len(array)
    return False


class Placed:
    """An array that every round puts elsewhere, by whole cache lines, so that no result hangs on
    one place. `now` is where it is; with `values` these are in it, anew in every round; what is
    `kept` moves along."""

    def __init__(self, values=None, count=None, dtype=numpy.float32, kept=False):
        self.values, self.kept = values, kept
        self.count = len(values) if values is not None else count
        dtype = values.dtype if values is not None else dtype
        self.step = LINE // numpy.dtype(dtype).itemsize
        self.memory = large_pages(self.count + 64 * self.step, dtype)
        self.now = self.memory[:self.count]
        self.place(0)

    def place(self, turn):
        start = turn * 29 % 64 * self.step
        before, self.now = self.now, self.memory[start:start + self.count]
        if self.values is not None:
            numpy.copyto(self.now, self.values)
        elif self.kept:
            numpy.copyto(self.now, before)


def generator(seed):
    return numpy.random.Generator(numpy.random.SFC64(seed))


def normal(n, seed=1):
    return generator(seed).standard_normal(n, numpy.float32)


def laplace(n, seed=1):
    random = generator(seed)
    values = random.standard_exponential(n, numpy.float32)
    values *= random.integers(0, 2, n, numpy.int8) * numpy.int8(2) - numpy.int8(1)
    return values


def zeros_and_ties(n, seed=1):
    """90 % zeros, and few different values."""
    random = generator(seed)
    values = random.standard_normal(n, numpy.float32)
    values *= 64
    numpy.rint(values, out=values)
    values /= 64
    values[random.random(n, numpy.float32) < 0.9] = 0
    return values


KINDS = {"normal": normal, "Laplace": laplace, "90 % zeros": zeros_and_ties}


def hostile_inputs(n, sampled):
    """Names and makers of inputs that selections of other libraries are slow on. `sampled` are the
    places that are looked at first, as starts of 16 values."""
    random = generator(7)
    spread = (sampled[:, None] + numpy.arange(16)).ravel()
    spread = spread[spread < n]

    def full(value):
        return numpy.full(n, value, numpy.float32)

    def one_huge():
        values = full(1e-3)
        values[n // 3] = 1e30
        return values

    def rising():
        return numpy.arange(1, n + 1, dtype=numpy.float32)

    def saw_tooth(period):
        return ((numpy.arange(n) % period) + 1).astype(numpy.float32)

    def in_the_sample(inside, outside):
        values = normal(n, 3)
        values *= outside
        values[spread] *= inside / outside
        return values

    def random_lines(share):
        values = normal(n, 3)
        lines = random.random((n + 15) // 16, numpy.float32) < share
        values[numpy.repeat(lines, 16)[:n]] *= 1e6
        return values

    def denormals():
        bits = random.integers(0, 1 << 23, n, numpy.uint32)
        bits |= random.integers(0, 2, n, numpy.uint32) << numpy.uint32(31)
        return bits.view(numpy.float32)

    def infinities(share):
        values = normal(n, 5)
        where = random.random(n, numpy.float32) < share
        values[where] = numpy.copysign(numpy.float32(numpy.inf), values[where])
        return values

    def every_exponent():
        bits = random.integers(1 << 23, 255 << 23, n, numpy.uint32)
        bits |= random.integers(0, 2, n, numpy.uint32) << numpy.uint32(31)
        return bits.view(numpy.float32)

    return {
        "all equal": lambda: full(0.5),
        "all zero": lambda: full(0.0),
        "one huge": one_huge,
        "rising": rising,
        "falling": lambda: rising()[::-1].copy(),
        "saw-tooth of a line": lambda: saw_tooth(16),
        "saw-tooth of a page": lambda: saw_tooth(1024),
        "saw-tooth of a prime": lambda: saw_tooth(65537),
        "large where the sample is": lambda: in_the_sample(1e6, 1.0),
        "large where it is not": lambda: in_the_sample(1.0, 1e6),
        "large in 2 % of lines": lambda: random_lines(0.02),
        "large in 98 % of lines": lambda: random_lines(0.98),
        "denormals": denormals,
        "0.05 % infinities": lambda: infinities(0.0005),
        "20 % infinities": lambda: infinities(0.2),
        "2^-126 .. 2^127": every_exponent,
    }
