"""Selections from all tensors of a model at once."""

import ctypes
import math

import numpy

from libraries import Answer
from memory import Placed, normal
from rounds import Contestant, Section, measure
from selections import Expected, limit_of, limits_of_reading, percent

ONE_CALL, WHOLE_MODEL, A_CALL_EACH = 0, 1, 2


def residual_network_of_50_layers():
    """ResNet-50: weights of convolutions, two vectors of each normalisation, a classifier."""
    sizes = [64 * 3 * 49, 64, 64]
    inputs = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            for ins, outs, taps in ((inputs, width, 1), (width, width, 9), (width, 4 * width, 1)):
                sizes += [ins * outs * taps, outs, outs]
            if block == 0:
                sizes += [inputs * 4 * width, 4 * width, 4 * width]
            inputs = 4 * width
    return sizes + [2048 * 1000, 1000]


MODELS = {
    "ResNet-50": residual_network_of_50_layers(),
    "LeNet-5": [8 * 25, 8, 32 * 8 * 25, 32, 512 * 128, 128, 1280, 10],
    "1000 tensors of 1000": [1000] * 1000,
}


def many(bench, _):
    section = Section("many", 0, "exact top-k of every tensor of a model, and of the whole model")
    for model, sizes in MODELS.items():
        n = sum(sizes)
        x = Placed(normal(n))
        starts = numpy.cumsum([0, *sizes])
        for share in bench.options.shares:
            ks = [max(1, math.ceil(size * share)) for size in sizes]
            case = f"{model}, {n} values, {percent(share)}"
            each = [Expected(x.values[a:a + size], k)
                    for a, size, k in zip(starts, sizes, ks)]
            contestants = [*limits_of_reading(bench, x),
                           contestant(bench, "each, one call", ONE_CALL, x, starts, sizes, ks,
                                      each),
                           contestant(bench, "each, a call for each", A_CALL_EACH, x, starts,
                                      sizes, ks, each),
                           contestant(bench, "whole model", WHOLE_MODEL, x, starts, sizes, ks,
                                      parts_of(Expected(x.values, sum(ks)), starts))]
            medians = section.case(case, measure(contestants, bench.options, [x]))
            limit = limit_of(medians)
            section.line(case, "each tensor's k, of the read limit",
                         limit / medians["each, one call"])
            section.line(case, "the whole model's k, of the read limit",
                         limit / medians["whole model"])
            section.line(case, "a call for each / one call",
                         medians["each, a call for each"] / medians["each, one call"], unit="x")
    return section


def parts_of(whole, starts):
    """What of an expected selection is in each tensor."""
    parts = []
    for start, end in zip(starts, starts[1:]):
        inside = (whole.indices >= start) & (whole.indices < end)
        part = object.__new__(Expected)
        part.indices = whole.indices[inside] - numpy.uint32(start)
        part.values = whole.values[inside]
        parts.append(part)
    return parts


def contestant(bench, name, ways, x, starts, sizes, ks, expected):
    answers = (Answer * len(sizes))()
    sizes_now, ks_now = numpy.array(sizes, numpy.int64), numpy.array(ks, numpy.int64)

    def run(repeats):
        at = x.now.ctypes.data
        tensors = (ctypes.c_void_p * len(sizes))(*(at + 4 * int(start) for start in starts[:-1]))
        return bench.own.seconds("sotto_top_k_of_many", ways, tensors, sizes_now, ks_now,
                                 len(sizes), answers, repeats)

    def check():
        for part, answer in zip(expected, answers):
            part.check(name, answer)
    return Contestant(name, run, check)
