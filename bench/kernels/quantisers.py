"""What conversions and quantisers have to give, and what they read and write."""

import numpy

from memory import generator, laplace, normal
from stream import Stream, equal_bits

f32 = numpy.float32
BLOCK = 4096


# Conversions.

def to_bf16(x):
    bits = x.view(numpy.uint32)
    return ((bits + numpy.uint32(0x7FFF) + (bits >> numpy.uint32(16) & numpy.uint32(1)))
            >> numpy.uint32(16)).astype(numpy.uint16)


def to_fp16(x):
    return x.astype(numpy.float16).view(numpy.uint16)


def from_bf16(halves):
    return (halves.astype(numpy.uint32) << numpy.uint32(16)).view(f32)


def from_fp16(halves):
    return halves.view(numpy.float16).astype(f32)


def rounded(name, convert):
    return Stream(name, lambda n: [normal(n), numpy.zeros(n, numpy.uint16)], lambda n: 6 * n,
                  lambda before, after, _: equal_bits(after[1], convert(before[0])), asked=0.80)


def widened(name, convert, back):
    return Stream(name, lambda n: [numpy.zeros(n, f32), convert(normal(n))], lambda n: 6 * n,
                  lambda before, after, _: equal_bits(after[0], back(before[1])), asked=0.80)


# Quantisation: scales are the blocks' largest magnitudes, codes are signed, the first one lowest.

def blocks(n):
    return -(-n // BLOCK)


def code_bytes(n, bits):
    return n // 8 * bits + (n % 8 * bits + 7) // 8


def block_scales(x):
    padded = numpy.zeros(blocks(len(x)) * BLOCK, f32)
    padded[:len(x)] = numpy.abs(x)
    return padded.reshape(-1, BLOCK).max(axis=1)


def scale_of_each(scales, n):
    return numpy.repeat(scales, BLOCK)[:n]


def decoded(codes, scales, bits, n):
    each = numpy.arange(0, 8, bits, dtype=numpy.uint8)
    fields = codes[:, None] >> each & numpy.uint8((1 << bits) - 1)
    numbers = fields.ravel()[:n].astype(numpy.int16)
    numbers[numbers >= 1 << (bits - 1)] -= 1 << bits
    largest = (1 << (bits - 1)) - 1
    return numbers / f32(largest) * scale_of_each(scales, n)


def near_enough(value, found, scales, bits, steps):
    step = scale_of_each(scales, len(value)) / ((1 << (bits - 1)) - 1)
    return bool((numpy.abs(value - found) <= (steps + 1e-4) * step).all())


def unbiased(value, found, scales, bits):
    """Whether the errors' mean is 0, over all values and wherever between two codes they are: what
    is rounded to the nearest code errs by a third of a step at a third of a step, though 0 in all.
    Of the first few million, up to six standard deviations."""
    n = min(len(value), 1 << 22)
    step = scale_of_each(scales, n).astype(numpy.float64) / ((1 << (bits - 1)) - 1)
    error, place = (found[:n] - value[:n]) / step, value[:n] / step
    place -= numpy.floor(place) + 0.5
    # A code is the upper one with probability p: the error's variance is p (1 - p), and with
    # p - 1/2 as a weight at most 1/64.
    return (abs(error.mean()) <= 6 * 0.5 / numpy.sqrt(n)
            and abs((error * place).mean()) <= 6 * 0.125 / numpy.sqrt(n))


def quantised(bits, stochastic=False):
    def right(before, after, _):
        x, scales = before[0], after[1]
        found = decoded(after[2], scales, bits, len(x))
        if not equal_bits(scales, block_scales(x)):
            return False
        if stochastic:
            return (near_enough(x, found, scales, bits, 1.0)
                    and unbiased(x, found, scales, bits))
        return near_enough(x, found, scales, bits, 0.5)
    return Stream(f"{bits} bits{', stochastic' if stochastic else ''}",
                  lambda n: [normal(n), numpy.zeros(blocks(n), f32),
                             numpy.zeros(code_bytes(n, bits), numpy.uint8)],
                  lambda n: 4 * n + code_bytes(n, bits) + 4 * blocks(n), right, asked=0.80)


def quantised_with_feedback(bits):
    def right(before, after, _):
        wanted = before[0] + before[1]
        scales = after[2]
        found = decoded(after[3], scales, bits, len(wanted))
        return (equal_bits(scales, block_scales(wanted))
                and near_enough(wanted, found, scales, bits, 0.5)
                and numpy.allclose(wanted - found, after[1], rtol=0, atol=1e-5))
    return Stream(f"{bits} bits, error feedback",
                  lambda n: [normal(n), laplace(n, 2) * f32(0.1), numpy.zeros(blocks(n), f32),
                             numpy.zeros(code_bytes(n, bits), numpy.uint8)],
                  lambda n: 12 * n + code_bytes(n, bits) + 4 * blocks(n), right, asked=0.80)


def dequantised(bits, added=False):
    def inputs(n):
        codes = generator(4).integers(0, 256, code_bytes(n, bits), numpy.uint8)
        lowest = numpy.uint8(1 << (bits - 1))  # the code that no sender writes
        for at in range(0, 8, bits):
            field = codes >> numpy.uint8(at) & numpy.uint8((1 << bits) - 1)
            codes[field == lowest] ^= numpy.uint8(1 << (bits - 1) << at)
        return [laplace(n) if added else numpy.zeros(n, f32), numpy.abs(normal(blocks(n))), codes]

    def right(before, after, _):
        value = decoded(before[2], before[1], bits, len(after[0]))
        return numpy.allclose(after[0], before[0] + value, rtol=1e-6, atol=1e-6 if added else 0)
    return Stream(f"from {bits} bits{', added' if added else ''}", inputs,
                  lambda n: (8 if added else 4) * n + code_bytes(n, bits) + 4 * blocks(n), right,
                  asked=0.80)


def ternary():
    """Stochastic codes of values that count for at most 2.5 standard deviations of their block."""
    def right(before, after, _):
        x, scales = before[0], after[1]
        padded = numpy.zeros(blocks(len(x)) * BLOCK)
        padded[:len(x)] = x
        counts = numpy.minimum(BLOCK, len(x) - BLOCK * numpy.arange(blocks(len(x))))
        limit = 2.5 * numpy.sqrt((padded.reshape(-1, BLOCK) ** 2).sum(axis=1) / counts)
        each = scale_of_each(scales, len(x))
        clipped, found = numpy.clip(x, -each, each), decoded(after[2], scales, 2, len(x))
        return (numpy.allclose(scales, numpy.minimum(limit, block_scales(x)), rtol=1e-6)
                and near_enough(clipped, found, scales, 2, 1.0)
                and unbiased(clipped, found, scales, 2))
    return Stream("ternary", lambda n: [normal(n), numpy.zeros(blocks(n), f32),
                                        numpy.zeros(code_bytes(n, 2), numpy.uint8)],
                  lambda n: 4 * n + code_bytes(n, 2) + 4 * blocks(n), right, asked=0.80)


# Signs: bit i % 8 of byte i / 8, 1 for negative ones.

def packed(x):
    return numpy.packbits(numpy.signbit(x), bitorder="little")


def unpacked(signs, n):
    return numpy.unpackbits(signs, count=n, bitorder="little").astype(bool)


def from_signs(added):
    def right(before, after, _):
        value = numpy.where(unpacked(before[1], len(after[0])), f32(-0.5), f32(0.5))
        return equal_bits(after[0], before[0] + value if added else value)
    return Stream(f"from signs{', added' if added else ''}",
                  lambda n: [laplace(n) if added else numpy.zeros(n, f32), packed(normal(n))],
                  lambda n: (8 if added else 4) * n + code_bytes(n, 1), right, asked=0.80)


def one_bit_with_feedback():
    def right(before, after, _):
        wanted, means = before[0] + before[1], after[2].reshape(-1, 2)
        negative = numpy.signbit(wanted)
        kept = numpy.repeat(means, BLOCK, axis=0)[:len(wanted)]
        value = numpy.where(negative, kept[:, 1], kept[:, 0])
        first = wanted[:BLOCK].astype(numpy.float64)
        positive = first[~negative[:BLOCK]]
        return (equal_bits(after[3], packed(wanted)) and equal_bits(after[1], wanted - value)
                and numpy.isclose(means[0, 0], positive.mean() if len(positive) else 0, rtol=1e-6))
    return Stream("1 bit, error feedback",
                  lambda n: [normal(n), laplace(n, 2) * f32(0.1), numpy.zeros(2 * blocks(n), f32),
                             numpy.zeros(code_bytes(n, 1), numpy.uint8)],
                  lambda n: 12 * n + code_bytes(n, 1) + 8 * blocks(n), right, asked=0.80)


def from_one_bit(added):
    def right(before, after, _):
        kept = numpy.repeat(before[1].reshape(-1, 2), BLOCK, axis=0)[:len(after[0])]
        value = numpy.where(unpacked(before[2], len(after[0])), kept[:, 1], kept[:, 0])
        return equal_bits(after[0], before[0] + value if added else value)
    return Stream(f"from 1 bit{', added' if added else ''}",
                  lambda n: [laplace(n) if added else numpy.zeros(n, f32), normal(2 * blocks(n)),
                             packed(normal(n))],
                  lambda n: (8 if added else 4) * n + code_bytes(n, 1) + 8 * blocks(n), right,
                  asked=0.80)


QUANTISERS = [
    rounded("fp32 to fp16", to_fp16),
    rounded("fp32 to bf16", to_bf16),
    widened("fp16 to fp32", to_fp16, from_fp16),
    widened("bf16 to fp32", to_bf16, from_bf16),
    *(quantised(bits) for bits in (8, 4, 2)),
    *(quantised(bits, stochastic=True) for bits in (8, 4, 2)),
    *(quantised_with_feedback(bits) for bits in (8, 4, 2)),
    *(dequantised(bits, added) for added in (False, True) for bits in (8, 4, 2)),
    ternary(),
    Stream("signs", lambda n: [normal(n), numpy.zeros(code_bytes(n, 1), numpy.uint8)],
           lambda n: 4 * n + code_bytes(n, 1),
           lambda before, after, _: equal_bits(after[1], packed(before[0])), asked=0.80),
    *(from_signs(added) for added in (False, True)),
    one_bit_with_feedback(),
    *(from_one_bit(added) for added in (False, True)),
]
