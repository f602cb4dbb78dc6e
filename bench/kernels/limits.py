"""What memory allows on this machine."""

import ctypes

import numpy

from memory import Placed, normal
from rounds import Contestant, Section, least, measure
from selections import AHEAD, limits_of_reading


def pointers(arrays):
    return (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))


def passes(bench, name, arrays, writes):
    """Reads all of the float arrays and writes the first of them: plain and prefetching loops."""
    def run(repeats, ahead):
        now = [a.now for a in arrays]
        return bench.peers.seconds("limit_pass", pointers(now), len(now), writes, len(now[0]),
                                   ahead, repeats)
    return [Contestant(f"{name}, {ahead} B ahead" if ahead else f"{name}, plain",
                       lambda repeats, ahead=ahead: run(repeats, ahead)) for ahead in AHEAD]


def copying(bench, size, parts=1):
    """memcpy of so many bytes, between arrays of its own, each time of another one of the parts."""
    source = Placed(count=parts * size, dtype=numpy.uint8)
    target = Placed(count=parts * size, dtype=numpy.uint8)
    return [source, target], Contestant("memcpy", lambda repeats: bench.peers.seconds(
        "limit_copy", source.now, target.now, size, parts, repeats))


def accumulating(bench, g, u, v, before_u, before_v):
    """u = m u + g;  v += u, in place: 20 bytes a weight."""
    return [Contestant(
        f"accumulate, {ahead} B ahead" if ahead else "accumulate, plain",
        lambda repeats, ahead=ahead: bench.peers.seconds(
            "limit_accumulate", g.now, u.now, v.now, before_u, before_v, len(g.now), 0.9, ahead,
            repeats)) for ahead in AHEAD]


def limits(bench, n):
    section = Section("limits", n, "the best plain loops, GB/s of bytes read and written")
    x, u, v = Placed(normal(n)), Placed(count=n), Placed(count=n)
    zeros = numpy.zeros(n, numpy.float32)
    copied, copy = copying(bench, 4 * n)
    times = measure([*limits_of_reading(bench, x), *passes(bench, "read and write", [x], 1), copy,
                     *accumulating(bench, x, u, v, zeros, zeros)], bench.options,
                    [x, u, v, *copied])
    medians = section.case("normal", times)
    for name, each in (("read", 4), ("read and write", 8), ("memcpy", 8), ("accumulate", 20)):
        seconds = least(medians, name if name == "memcpy" else f"{name},")
        section.line("normal", f"{name}, {each} B a value", each * n / seconds / 1e9,
                     unit=" GB/s")
    return section
