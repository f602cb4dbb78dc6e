"""All contestants of a comparison take turns in one process; medians count."""

import statistics
import time

from common.pages import bound, digits


class Contestant:
    """`run(repeats)` gives the seconds of one call; `check()` raises if the last answer is wrong.
    Checks that take long are left to the first and the last round. An allocator that keeps memory
    needs some runs before it has as much as it keeps."""

    def __init__(self, name, run, check=None, quick_check=False, warm_ups=3):
        self.name = name
        self.run = run
        self.check = check or (lambda: None)
        self.quick_check = quick_check
        self.warm_ups = warm_ups


def timed(function, prepare=None):
    """A contestant's `run`, from a function in Python."""
    def run(repeats):
        seconds = []
        for _ in range(repeats):
            if prepare:
                prepare()
            start = time.perf_counter()
            function()
            seconds.append(time.perf_counter() - start)
        return statistics.median(seconds)
    return run


def measure(contestants, options, arrays=()):
    """Seconds of each by name. Every round moves the arrays and begins with another contestant.
    Whoever takes longer than options.patience runs in three rounds only."""
    rounds = options.rounds
    repeats, slow = {}, set()
    for one in contestants:
        seconds = one.run(1)
        one.check()
        if seconds < options.patience:
            seconds = min(one.run(1) for _ in range(one.warm_ups))
        repeats[one.name] = max(1, min(25, int(1e-3 / max(seconds, 1e-9))))
        if seconds > options.patience:
            slow.add(one.name)
    times = {one.name: [] for one in contestants}
    for turn in range(rounds):
        for array in arrays:
            array.place(turn)
        first = turn % len(contestants)
        for one in contestants[first:] + contestants[:first]:
            if one.name in slow and turn >= 3:
                continue
            times[one.name].append(one.run(repeats[one.name]))
            if one.quick_check or turn == rounds - 1:
                one.check()
    return times


def least(medians, prefix):
    """Of the contestants whose names begin so the fastest one's seconds, or None."""
    return min((s for name, s in medians.items() if name.startswith(prefix)), default=None)


class Section:
    """What one section found for one size: ratios with what is asked of them, and all times."""

    def __init__(self, name, n, about):
        self.found = {"section": name, "n": n, "about": about, "lines": [], "medians": {},
                      "times": {}}

    def case(self, case, times):
        """Keeps the times of a case; returns their medians."""
        medians = {name: statistics.median(seconds) for name, seconds in times.items()}
        self.found["times"][case] = times
        self.found["medians"][case] = medians
        return medians

    def merge(self, case, name, seconds):
        """Takes over what another process measured in this case."""
        self.found["times"].setdefault(case, {})[name] = seconds
        self.found["medians"].setdefault(case, {})[name] = statistics.median(seconds)

    def line(self, case, what, ratio, asked=None, at_most=False, unit=""):
        """A ratio, and whether it is what is asked; no ratio, no line."""
        if ratio is None:
            return
        met = None if asked is None else (ratio <= asked if at_most else ratio >= asked)
        line = {"case": case, "what": what, "ratio": ratio, "asked": asked, "at_most": at_most,
                "unit": unit, "met": met}
        self.found["lines"].append(line)
        asked_text = "" if asked is None else f"  asked {bound(line)}"
        verdict = {None: "", True: "  met", False: "  MISSED"}[met]
        print(f"  {case:36} {what:58} {digits(ratio)}{unit}{asked_text}{verdict}", flush=True)
