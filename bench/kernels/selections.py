"""Exact top-k: beside the limit of memory and beside what others have."""

import math

import numpy

from common.pages import quotient
from libraries import Answer
from memory import KINDS, Placed, generator, hostile_inputs
from rounds import Contestant, Section, least, measure, timed
from stream import equal_bits

AHEAD = (0, 1024, 4096)  # bytes that the limits' loops prefetch
SMALL, LARGE = 1_000_000, 25_000_000  # of which, and of all above, something is asked

# What is asked at k/n = 0.1, 1 and 10 %.
OF_LIMIT = {True: {0.001: 0.72, 0.01: 0.54, 0.1: 0.42}, False: {0.001: 0.55, 0.01: 0.38, 0.1: 0.20}}
OF_PEERS = {LARGE: {0.001: 6.0, 0.01: 4.4, 0.1: 3.8},
            SMALL: {0.001: 6.0, 0.01: 4.8, 0.1: 2.8}}
OF_SETS = {"avx2": 0.60, "sse4_2": 0.35}
MESSAGES = 64  # that a codec gets in turns


def percent(share):
    return f"{100 * share:g} %"


def asked_of_limit(n, share):
    return OF_LIMIT[n >= LARGE].get(share) if n == SMALL or n >= LARGE else None


class Expected:
    """The one right answer: the k largest magnitudes; of equals the lowest index."""

    def __init__(self, values, k):
        self.source = values
        magnitudes = numpy.abs(values)
        if k == 0:
            kept = numpy.zeros(len(values), bool)
        else:
            kth = numpy.partition(magnitudes, len(values) - k)[len(values) - k]
            kept = magnitudes > kth
            equal = numpy.flatnonzero(magnitudes == kth)
            kept[equal[:k - numpy.count_nonzero(kept)]] = True
        self.indices = numpy.flatnonzero(kept).astype(numpy.uint32)
        self.values = values[self.indices]
        self.magnitudes = None

    def check(self, name, answer):
        """Indices in order, values bit for bit."""
        if not numpy.array_equal(answer.indices, self.indices) or not numpy.array_equal(
                answer.values.view(numpy.uint32), self.values.view(numpy.uint32)):
            raise SystemExit(f"{name}: a wrong answer")

    def check_unordered(self, name, indices):
        """Any order, and of equal magnitudes any."""
        if self.magnitudes is None:
            self.magnitudes = numpy.sort(numpy.abs(self.values))
        indices = numpy.sort(indices)
        if (indices[1:] == indices[:-1]).any() or not numpy.array_equal(
                numpy.sort(numpy.abs(self.source[indices])), self.magnitudes):
            raise SystemExit(f"{name}: a wrong answer")


def limits_of_reading(bench, x, by_two=False):
    """The plain loop and the prefetching ones; the fastest of them is the limit."""
    function = "limit_read_by_two" if by_two else "limit_read"
    name = "read by two" if by_two else "read"
    return [Contestant(f"{name}, {ahead} B ahead" if ahead else f"{name}, plain",
                       lambda repeats, ahead=ahead:
                       bench.peers.seconds(function, x.now, len(x.now), ahead, repeats))
            for ahead in AHEAD]


def limit_of(medians, name="read"):
    return least(medians, f"{name},")


def own_contestant(bench, name, x, k, expected, library=None):
    answer = Answer()
    library = library or bench.own
    return Contestant(
        name,
        lambda repeats: library.seconds("sotto_top_k", x.now, len(x.now), k, answer, repeats),
        lambda: expected.check(name, answer), quick_check=True)


def peer_contestants(bench, x, k, expected):
    made = []
    for which in range(bench.peers.count("peer_count")):
        name = bench.peers.text("peer_name", which)
        if name == "std::partial_sort" and len(x.now) > LARGE:
            continue
        answer = Answer()
        made.append(Contestant(
            name,
            lambda repeats, which=which, answer=answer:
            bench.peers.seconds("peer_run", which, x.now, len(x.now), k, answer, repeats),
            lambda name=name, answer=answer: expected.check_unordered(name, answer.indices)))
    return made


def numpy_contestant(x, k, expected):
    found = []

    def run():
        found[:] = [numpy.argpartition(numpy.abs(x.now), len(x.now) - k)[len(x.now) - k:]]
    return Contestant("numpy.argpartition", timed(run),
                      lambda: expected.check_unordered("numpy.argpartition", found[0]))


def torch_contestant(torch, x, k, expected):
    found = []

    def run():
        found[:] = [torch.topk(torch.from_numpy(x.now).abs(), k, sorted=False)[1]]
    return Contestant("torch.topk", timed(run),
                      lambda: expected.check_unordered("torch.topk", found[0].numpy()),
                      warm_ups=8)


def top_k(bench, n):
    section = Section("top_k", n, "exact top-k by magnitude: indices in order, and values")
    for kind, make in KINDS.items():
        if not bench.wants_kind(kind):
            continue
        x = Placed(make(n))
        shift = n // 4
        last = make(n + 2 * shift, seed=2) if bench.wants("carried") else None
        for share in bench.options.shares:
            k = max(1, math.ceil(n * share))
            case = f"{kind}, {percent(share)}"
            expected = Expected(x.values, k)
            contestants = []
            if bench.wants("limit"):
                contestants += limits_of_reading(bench, x)
            contestants.append(own_contestant(bench, "sotto", x, k, expected))
            if bench.wants("carried"):
                answer = Answer()
                contestants.append(Contestant(
                    "sotto, threshold carried",
                    lambda repeats, k=k, answer=answer: bench.own.seconds(
                        "sotto_top_k_carried", last, shift, x.now, n, k, answer, repeats),
                    lambda expected=expected, answer=answer:
                    expected.check("threshold carried", answer), quick_check=True))
            if bench.wants("peers"):
                contestants += peer_contestants(bench, x, k, expected)
            if bench.wants("numpy") and n <= LARGE:
                contestants.append(numpy_contestant(x, k, expected))
            if bench.wants("torch") and bench.torch and n <= LARGE:
                contestants.append(torch_contestant(bench.torch, x, k, expected))
            medians = section.case(case, measure(contestants, bench.options, [x]))
            top_k_lines(section, case, n, share, medians)
    if bench.wants("torch") and bench.torch and n <= LARGE and not bench.options.child:
        tuned = bench.child(["top_k"], n, "sotto,torch", bench.TUNED_ALLOCATOR)
        for case, medians in tuned["medians"].items():
            section.merge(case, "torch.topk, tuned", tuned["times"][case]["torch.topk"])
            section.line(case, "torch.topk with a tuned allocator / sotto",
                         medians["torch.topk"] / medians["sotto"],
                         25 if n == LARGE and case.endswith(" 0.1 %") else None, unit="x")
    return section


def top_k_lines(section, case, n, share, medians):
    own, limit = medians["sotto"], limit_of(medians)
    section.line(case, "of the read limit", quotient(limit, own), asked_of_limit(n, share))
    if "sotto, threshold carried" in medians:
        section.line(case, "of the read limit, threshold carried over",
                     quotient(limit, medians["sotto, threshold carried"]),
                     0.82 if n >= LARGE and share == 0.001 else None)
    best = min((m for m in (least(medians, "x86-simd-sort"), least(medians, "Highway"))
                if m is not None), default=None)
    section.line(case, "best of x86-simd-sort and Highway / sotto", quotient(best, own),
                 OF_PEERS.get(n, {}).get(share), unit="x")
    section.line(case, "std::nth_element / sotto", quotient(medians.get("std::nth_element"), own),
                 unit="x")
    section.line(case, "numpy.argpartition / sotto",
                 quotient(medians.get("numpy.argpartition"), own), unit="x")
    section.line(case, "torch.topk as users run it / sotto", quotient(medians.get("torch.topk"), own),
                 70 if n == LARGE and share == 0.001 else None, unit="x")


def sampled_places(bench, n):
    count = bench.own.count("sotto_sample_places", n, numpy.zeros(1, numpy.int64), 0)
    places = numpy.zeros(max(count, 1), numpy.int64)
    bench.own.count("sotto_sample_places", n, places, count)
    return places[:count]


def hostile(bench, n):
    section = Section("hostile", n, "exact top-k where others are slow")
    worst = {}
    for name, make in hostile_inputs(n, sampled_places(bench, n)).items():
        x = Placed(make())
        for share in bench.options.shares:
            k = max(1, math.ceil(n * share))
            expected = Expected(x.values, k)
            case = f"{name}, {percent(share)}"
            medians = section.case(case, measure(
                [*limits_of_reading(bench, x), own_contestant(bench, "sotto", x, k, expected)],
                bench.options, [x]))
            worst[case] = quotient(limit_of(medians), medians["sotto"])
            section.line(case, "of the read limit", worst[case], 0.15 if n >= SMALL else None)
    case = min(worst, key=worst.get)
    section.line(f"worst: {case}", "of the read limit", worst[case],
                 0.15 if n >= SMALL else None)
    return section


def threads(bench, n):
    section = Section("threads", n, "exact top-k by two threads")
    x = Placed(KINDS["normal"](n))
    for share in bench.options.shares:
        k = max(1, math.ceil(n * share))
        case = f"normal, {percent(share)}"
        expected = Expected(x.values, k)
        answer = Answer()
        two = Contestant(
            "sotto, two threads",
            lambda repeats, k=k, answer=answer:
            bench.own.seconds("sotto_team_top_k", 2, x.now, n, k, answer, repeats),
            lambda expected=expected, answer=answer: expected.check("two threads", answer),
            quick_check=True)
        medians = section.case(case, measure(
            [*limits_of_reading(bench, x), own_contestant(bench, "sotto", x, k, expected),
             *limits_of_reading(bench, x, by_two=True), two], bench.options, [x]))
        one_limit, two_limit = limit_of(medians), limit_of(medians, "read by two")
        section.line(case, "one thread / two", medians["sotto"] / medians["sotto, two threads"],
                     1.6 if n == SMALL else None, unit="x")
        section.line(case, "limit of one thread / limit of two", one_limit / two_limit, unit="x")
        section.line(case, "one thread, of the read limit", one_limit / medians["sotto"])
        section.line(case, "two threads, of two threads' read limit",
                     two_limit / medians["sotto, two threads"])
    return section


def sets(bench, n):
    section = Section("sets", n, "exact top-k by other instruction sets")
    for name in ("baseline", "sse4_2", "avx2", "best"):
        found = bench.child(["top_k"], n, "limit,sotto",
                            {} if name == "best" else {"SOTTO_ISA": name}, shares=(0.001,))
        label = found["instruction_set"]
        if name not in ("best", label):
            print(f"  {name}: this processor does not have it")
            continue
        for case, medians in found["medians"].items():
            for who, seconds in found["times"][case].items():
                section.merge(case, f"{label}: {who}", seconds)
            section.line(case, f"{label}, of the read limit",
                         limit_of(medians) / medians["sotto"],
                         OF_SETS.get(label) if n >= LARGE and name != "best" else None)
    return section


def native(bench, n):
    section = Section("native", n, "built for any processor, and with -march=native")
    for kind, make in KINDS.items():
        x = Placed(make(n))
        for share in bench.options.shares:
            k = max(1, math.ceil(n * share))
            case = f"{kind}, {percent(share)}"
            expected = Expected(x.values, k)
            medians = section.case(case, measure(
                [own_contestant(bench, "without flags", x, k, expected),
                 own_contestant(bench, "native", x, k, expected, bench.native)],
                bench.options, [x]))
            section.line(case, "native / without flags",
                         medians["native"] / medians["without flags"],
                         0.95 if n >= SMALL else None)
    return section


def as_probable(expected, count):
    """So many messages, the first of them what is expected: of independent values of one
    distribution, a selection with its gaps and its values in another order is as probable."""
    gaps = numpy.diff(expected.indices.astype(numpy.int64), prepend=-1)
    random = generator(11)
    messages = [(expected.indices, expected.values)]
    while len(messages) < count:
        messages.append(((random.permutation(gaps).cumsum() - 1).astype(numpy.uint32),
                         random.permutation(expected.values)))
    return messages


def codec_contestant(bench, n, messages, size):
    """The messages take turns; `size` becomes how many bytes the last one had."""
    k = len(messages[0][0])
    sent = (Answer * len(messages))(*((indices.ctypes.data, values.ctypes.data, k)
                                      for indices, values in messages))
    indices, values = numpy.zeros(k, numpy.uint32), numpy.zeros(k, numpy.float32)
    decoded, turn = Answer(), 0

    def run(repeats):
        nonlocal turn
        turn += repeats
        return bench.own.seconds("sotto_codec", n, sent, len(messages), turn - repeats, indices,
                                 values, size, decoded, repeats)

    def check():
        right = messages[(turn - 1) % len(messages)]
        if not all(map(equal_bits, (decoded.indices, decoded.values), right)):
            raise SystemExit("codec: a wrong answer")
    return Contestant("encode and decode", run, check, quick_check=True)


def codec(bench, n):
    section = Section("codec", n, "encoding and decoding the message that was selected")
    x = Placed(KINDS["normal"](n))
    for share in bench.options.shares:
        k = max(1, math.ceil(n * share))
        case = f"normal, {percent(share)}"
        expected = Expected(x.values, k)
        size = numpy.zeros(1, numpy.int64)
        # Of large messages fewer: no processor learns millions of branches.
        messages = as_probable(expected, max(1, min(MESSAGES, (1 << 22) // k)))
        both = codec_contestant(bench, n, messages, size)
        medians = section.case(case, measure(
            [own_contestant(bench, "sotto", x, k, expected), both], bench.options, [x]))
        section.line(case, "encode and decode / selection",
                     medians["encode and decode"] / medians["sotto"],
                     0.10 if share == 0.001 and n >= SMALL else None, at_most=True)
        section.line(case, "bytes an entry", int(size[0]) / k)
    return section
