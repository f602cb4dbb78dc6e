"""Kernels that go through their arrays once: beside memcpy of as many bytes, and beside the loop
that reads and writes the same arrays and computes nothing."""

import numpy

from limits import copying, passes, pointers
from memory import Placed, generator, normal
from quantisers import QUANTISERS
from rounds import Contestant, Section, least, measure
from selections import SMALL
from stream import Stream, equal_bits

f32 = numpy.float32
RATE, DECAY, MOMENTUM = f32(0.01), f32(0.0001), f32(0.9)


# Updates: every operation is rounded once, in the order of the documentation.

def sgd(b):
    return [b[0] - RATE * b[1]]


def momentum_sgd(b):
    u = MOMENTUM * b[1] + (b[2] + DECAY * b[0])
    return [b[0] - RATE * u, u]


def adamw(b):
    beta1, beta2 = f32(0.9), f32(0.999)
    m = beta1 * b[1] + (f32(1) - beta1) * b[3]
    v = beta2 * b[2] + (f32(1) - beta2) * (b[3] * b[3])
    step = m * f32(1.25) / (numpy.sqrt(v * f32(1.5)) + f32(1e-8))
    return [b[0] - RATE * (DECAY * b[0] + step), m, v]


def compensated(weight, gradient, before, strength):
    g = gradient - (strength * gradient) * (gradient * (before - weight))
    return weight - RATE * g


def dc_asgd_c(b):
    return [compensated(b[0], b[1], b[2], f32(0.04))]


def dc_asgd_a(b):
    decay = f32(0.95)
    s = decay * b[1] + (f32(1) - decay) * (b[2] * b[2])
    return [compensated(b[0], b[2], b[3], f32(2) / numpy.sqrt(s + f32(1e-7))), s]


def average(b):
    weight = f32(1 / len(b))
    total = weight * b[0]
    for other in b[1:]:
        total = total + weight * other
    return [total]


def update(name, reads, writes, function, floor_asked=None, positive=()):
    """The first `writes` of `reads` arrays change; those in `positive` hold no negative numbers."""
    def inputs(n):
        made = [normal(n, seed=i + 1) for i in range(reads)]
        return [numpy.abs(a) if i in positive else a for i, a in enumerate(made)]
    return Stream(name, inputs, lambda n: 4 * n * (reads + writes),
                  lambda before, after, _: all(
                      equal_bits(after[i], right) for i, right in enumerate(function(before))),
                  floor=(reads, writes), floor_asked=floor_asked)


# The others.

MESSAGES = 56  # as many as streams.cpp goes through: together nearly every line of the sum


def sparse(name, messages):
    """Calls take turns: no line of the sum is met again before all others of all messages were."""
    def inputs(n):
        k = n // 1000
        lines = generator(9).permutation(n // 16)[:MESSAGES * k].reshape(MESSAGES, k)
        return [normal(n), (numpy.sort(lines) * 16 + 3).astype(numpy.uint32).ravel(),
                normal(MESSAGES * k, 2)]

    def right(before, after, _):
        total, k = before[0].copy(), len(before[1]) // MESSAGES
        for i in range(messages):
            part = slice(i * k, (i + 1) * k)
            total[before[1][part]] += before[2][part]
        return equal_bits(after[0], total)
    # A line of the sum is read and written for every entry.
    return Stream(name, inputs, lambda n: messages * (n // 1000) * (8 + 128), right,
                  parts=MESSAGES // messages)


def reduction(name, reads, function):
    return Stream(name, lambda n: [normal(n, i + 1) for i in range(reads)],
                  lambda n: 4 * n * reads,
                  lambda before, after, result: numpy.isclose(result, function(before), rtol=1e-12),
                  floor=(reads, 0))


def with_last(values, last):
    values[-1] = last
    return values


def squares(x):
    x = x.astype(numpy.float64)
    return numpy.dot(x, x)


STREAMS = [
    *QUANTISERS,
    update("SGD", 2, 1, sgd),
    update("momentum SGD", 3, 2, momentum_sgd),
    update("AdamW", 4, 3, adamw, positive=(2,)),
    update("DC-ASGD-c", 3, 1, dc_asgd_c),
    update("DC-ASGD-a", 4, 2, dc_asgd_a, floor_asked=0.85, positive=(1,)),
    *(update(f"average with {others}", others + 1, 1, average, floor_asked=0.85)
      for others in (1, 2, 4)),
    sparse("1 sparse message", 1),
    sparse("8 sparse messages", 8),
    reduction("consensus distance", 2, lambda b: squares(b[0].astype(numpy.float64) - b[1])),
    reduction("sum of squares", 1, lambda b: squares(b[0])),
    reduction("largest magnitude", 1, lambda b: numpy.abs(b[0]).max()),
    Stream("finite check", lambda n: [with_last(normal(n), numpy.nan)], lambda n: 4 * n,
           lambda before, after, result: result == len(before[0]) - 1, floor=(1, 0)),
    Stream("scale and sum of squares", lambda n: [normal(n)], lambda n: 8 * n,
           lambda before, after, result: equal_bits(after[0], -before[0])
           and numpy.isclose(result, squares(before[0]), rtol=1e-12), floor=(1, 1)),
]


def kernel(bench, stream, arrays):
    result = numpy.zeros(1, numpy.float64)
    name = stream.name.encode()
    n, turn = arrays[0].count, 0

    def run(repeats):
        nonlocal turn
        turn += repeats
        return bench.own.seconds("stream_run", name, pointers([a.now for a in arrays]), n,
                                 turn - repeats, result, repeats)

    def check():
        """Of a first call: kernels that work in place have changed their inputs by now."""
        nonlocal turn
        for array in arrays:
            numpy.copyto(array.now, array.values)
        turn = 0
        run(1)
        if not stream.right([a.values for a in arrays], [a.now for a in arrays], result[0]):
            raise SystemExit(f"{stream.name}: a wrong answer")
    return Contestant("sotto", run, check)


def streams(bench, n):
    section = Section("streams", n, "kernels that go through their arrays once")
    built = set(bench.own.text("stream_names").split("\n")) - {""}
    unknown = built ^ {stream.name for stream in STREAMS}
    if unknown:
        raise SystemExit(f"streams.cpp and streams.py do not have the same kernels: {unknown}")
    for stream in STREAMS:
        compare(bench, section, stream, n)
    return section


def compare(bench, section, stream, n):
    arrays = [Placed(values) for values in stream.inputs(n)]
    moved = stream.moved(n)
    copied, copy = copying(bench, moved // 2, stream.parts)
    contestants = [kernel(bench, stream, arrays), copy]
    if stream.floor:
        contestants += passes(bench, "floor", arrays[:stream.floor[0]], stream.floor[1])
    medians = section.case(stream.name, measure(contestants, bench.options, [*arrays, *copied]))
    section.line(stream.name, "of memcpy of as many bytes", medians["memcpy"] / medians["sotto"],
                 stream.asked if n >= SMALL else None)
    if stream.floor:
        section.line(stream.name, "of the same reads and writes alone",
                     least(medians, "floor,") / medians["sotto"],
                     stream.floor_asked if n >= SMALL else None)
    section.line(stream.name, "read and written", moved / medians["sotto"] / 1e9, unit=" GB/s")
