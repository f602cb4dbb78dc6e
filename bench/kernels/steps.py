"""The fused step of Deep Gradient Compression: beside its floor, beside the same things done one
after another, and beside what its authors do in PyTorch."""

import math
import random

import numpy

from common.pages import quotient
from libraries import Answer
from limits import accumulating
from memory import KINDS, Placed
from rounds import Contestant, Section, least, measure, timed
from selections import LARGE, Expected, percent

ASKED = {0.001: 0.85, 0.01: 0.85, 0.1: 0.55}  # of the floor, out of the caches
FUSED, CARRIED, UNFUSED = ("sotto, fused", "sotto, fused, threshold carried",
                           "sotto, one after another")


class State:
    """What a step reads and writes, and what it is before; and the buffers of a training of many
    steps, `gradient`, `velocity` and `accumulated`."""

    def __init__(self, make, n):
        self.g, self.u, self.v = Placed(make(n)), Placed(count=n), Placed(count=n)
        self.before_u, self.before_v = 2 * make(n, seed=2), 5 * make(n, seed=3)
        self.gradient, self.velocity, self.accumulated = (
            Placed(count=n), Placed(count=n, kept=True), Placed(count=n, kept=True))
        self.n = n

    @property
    def arrays(self):
        return [self.g, self.u, self.v]

    @property
    def training(self):
        return [self.gradient, self.velocity, self.accumulated]

    def prepare(self):
        numpy.copyto(self.u.now, self.before_u)
        numpy.copyto(self.v.now, self.before_v)


class Right:
    """The step's one right result, from operations of one rounding each."""

    def __init__(self, g, before_u, before_v, k, mask, nesterov):
        momentum = numpy.float32(0.9)
        self.u = momentum * before_u + g
        self.v = before_v + (momentum * self.u + g if nesterov else self.u)
        self.selected = Expected(self.v, k)
        self.selected.source = None
        self.v[self.selected.indices] = 0
        if mask:
            self.u[self.selected.indices] = 0

    def check(self, name, u, v, answer):
        self.selected.check(name, answer)
        for ours, right in ((u, self.u), (v, self.v)):
            if not numpy.array_equal(ours.view(numpy.uint32), right.view(numpy.uint32)):
                raise SystemExit(f"{name}: wrong buffers")


def own(bench, name, state, k, right, mask=True, nesterov=False):
    answer = Answer()
    return Contestant(
        name,
        lambda repeats: bench.own.seconds(
            "sotto_dgc_step", name == FUSED, state.g.now, state.u.now, state.v.now, state.before_u,
            state.before_v, state.n, k, mask, nesterov, answer, repeats),
        lambda: right.check(name, state.u.now, state.v.now, answer))


def training(bench, state, k, mask=True, nesterov=False):
    """Steps one after the other, in buffers of their own."""
    answer, steps = Answer(), numpy.zeros(1, numpy.int64)
    numpy.copyto(state.velocity.now, state.before_u)
    numpy.copyto(state.accumulated.now, state.before_v)

    def run(repeats):
        g, u, v = (a.now for a in state.training)
        return bench.own.seconds("sotto_dgc_training", steps, state.g.values, g, u, v, state.n, k,
                                 mask, nesterov, answer, repeats)

    def check():
        """Of one more step."""
        g, u, v = (a.now for a in state.training)
        before_u, before_v = u.copy(), v.copy()
        run(1)
        Right(g, before_u, before_v, k, mask, nesterov).check(CARRIED, u, v, answer)
    return Contestant(CARRIED, run, check)


def check_variants(bench, state, share):
    """Nesterov's momentum and no mask: right as well."""
    k = max(1, math.ceil(state.n * share))
    for mask, nesterov in ((False, False), (True, True), (False, True)):
        right = Right(state.g.values, state.before_u, state.before_v, k, mask, nesterov)
        for one in (*(own(bench, name, state, k, right, mask, nesterov)
                      for name in (FUSED, UNFUSED)),
                    training(bench, state, k, mask, nesterov)):
            one.run(1)
            one.check()


def authors_way(torch, state, share, k):
    """The step as its authors write it: a threshold from a sample of at least 1 %, an exact choice
    among what passes if that is over 1.3 k, a lower threshold if it is under 0.8 k."""
    n = state.n
    least_samples = max(math.ceil(n * 0.01), math.ceil(2 / share))
    stride = 1
    if n > math.ceil(2 / share):
        stride = math.ceil(n / least_samples / 32) * 32 + 1
        while stride > 8 and n // stride < least_samples:
            stride -= 8
    largest_samples = math.ceil(n // stride * share)
    found = []

    def run():
        g, u, v = (torch.from_numpy(a.now) for a in state.arrays)
        u.mul_(0.9).add_(g)
        v.add_(u)
        importance = v.abs()
        samples = importance[random.randrange(stride)::stride]
        threshold = torch.topk(samples, largest_samples, sorted=False)[0].min()
        indices = (importance >= threshold).nonzero().view(-1)
        for _ in range(10):
            if len(indices) > 1.3 * k:
                indices = indices[torch.topk(importance[indices], k, sorted=False)[1]]
                break
            if len(indices) >= 0.8 * k:
                break
            threshold = threshold * 0.8
            indices = (importance >= threshold).nonzero().view(-1)
        indices = indices[:k]
        values = v[indices]
        v.index_fill_(0, indices, 0)
        u.index_fill_(0, indices, 0)
        found[:] = [indices.numpy(), values.numpy()]

    def check():
        indices, values = found
        sent = numpy.float32(0.9) * state.before_u[indices] + state.g.values[indices]
        sent += state.before_v[indices]
        if len(indices) > k or not numpy.allclose(values, sent, rtol=1e-5, atol=1e-5) \
                or state.v.now[indices].any() or state.u.now[indices].any():
            raise SystemExit("PyTorch's step: a wrong answer")
    return Contestant("PyTorch, the authors' way", timed(run, state.prepare), check,
                      warm_ups=8)


def dgc(bench, n):
    section = Section("dgc", n, "u = m u + g;  v += u;  the k largest of v, then 0 in u and v")
    for kind, make in KINDS.items():
        if bench.wants_kind(kind):
            steps_of_kind(bench, section, kind, State(make, n))
    if bench.wants("torch") and bench.torch and n <= LARGE and not bench.options.child:
        tuned = bench.child(["dgc"], n, "sotto,torch", bench.TUNED_ALLOCATOR)
        for case, medians in tuned["medians"].items():
            theirs = "PyTorch, the authors' way"
            section.merge(case, "PyTorch, tuned", tuned["times"][case][theirs])
            section.line(case, "PyTorch with a tuned allocator / sotto",
                         medians[theirs] / medians[FUSED], 4 if n == LARGE else None, unit="x")
    return section


def steps_of_kind(bench, section, kind, state):
    n = state.n
    if not bench.options.child and n <= LARGE:
        check_variants(bench, state, bench.options.shares[0])
    for share in bench.options.shares:
        k = max(1, math.ceil(n * share))
        case = f"{kind}, {percent(share)}"
        right = Right(state.g.values, state.before_u, state.before_v, k, True, False)
        contestants = [own(bench, FUSED, state, k, right)]
        if bench.options.only is None:
            contestants += [training(bench, state, k), own(bench, UNFUSED, state, k, right)]
        if bench.wants("limit"):
            contestants += accumulating(bench, *state.arrays, state.before_u, state.before_v)
        if bench.wants("torch") and bench.torch and n <= LARGE:
            contestants.append(authors_way(bench.torch, state, share, k))
        lines(section, case, n, share,
              section.case(case, measure(contestants, bench.options,
                                         [*state.arrays, *state.training])))


def lines(section, case, n, share, medians):
    fused, floor = medians[FUSED], least(medians, "accumulate,")
    section.line(case, "of the accumulate-only floor", quotient(floor, fused),
                 ASKED.get(share) if n >= LARGE else None)
    section.line(case, "of the floor, threshold carried over",
                 quotient(floor, medians.get(CARRIED)))
    section.line(case, "one after another / fused",
                 quotient(medians.get(UNFUSED), fused), unit="x")
    section.line(case, "PyTorch as users run it / sotto",
                 quotient(medians.get("PyTorch, the authors' way"), fused),
                 8 if n == LARGE else None, unit="x")
