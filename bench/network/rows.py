"""A row of results is what was measured in turns on one network. Medians count."""

import statistics
from typing import Any, Callable, NamedTuple

# What must be the same where figures of two rows are compared.
MACHINE = ("processor", "processors", "kernel", "peers")


class Row(NamedTuple):
    """`about` holds what is known before anything is measured; `measure()` returns the rest of the
    row, or None where this machine cannot."""

    name: str
    about: dict[str, Any]
    measure: Callable[[], Any]


def slowest_ranks(records):
    """{(contestant, bytes): median over rounds of the slowest rank's seconds}, of the objects that
    all ranks printed in one run."""
    by_case = {}
    for record in records:
        by_case.setdefault((record["contestant"], record["bytes"]), []).append(record["seconds"])
    return {case: statistics.median(max(seconds) for seconds in zip(*of_ranks, strict=True))
            for case, of_ranks in by_case.items()}


def in_turns(rounds, contestants):
    """Runs each `contestant()` once a round, every round beginning with another one; yields what
    they return."""
    for turn in range(rounds):
        first = turn % len(contestants)
        for contestant in contestants[first:] + contestants[:first]:
            yield contestant()


class Times:
    """{case: {contestant: [seconds of each turn]}}."""

    def __init__(self):
        self.times = {}

    def add(self, case, contestant, seconds):
        self.times.setdefault(case, {}).setdefault(contestant, []).append(seconds)

    def add_runs(self, operation, records):
        for (contestant, count), seconds in slowest_ranks(records).items():
            self.add(f"{operation} {count}", contestant, seconds)


def is_of(row, about):
    """Whether a stored row is one of what `about` says."""
    return all(row.get(name) == value for name, value in about.items())


def is_measured(row):
    return "date" in row


def comparable(*measured):
    """Whether all rows were measured, on the same machine."""
    return (all(is_measured(row) for row in measured) and
            len({tuple(row.get(name) for name in MACHINE) for row in measured}) == 1)


def medians(row, case):
    """{contestant: median of its turns}; empty where nothing was measured."""
    return {name: statistics.median(seconds)
            for name, seconds in row.get("times", {}).get(case, {}).items()}


def least(found, prefix):
    """The fastest contestant whose name begins so, and its seconds; (None, None) without."""
    of_them = {name: s for name, s in found.items() if name.startswith(prefix)}
    best = min(of_them, key=of_them.get, default=None)
    return best, of_them.get(best)


def line(row, case, what, value, asked=None, at_most=False, unit=""):
    """A figure, and whether it is what is asked. Where there is none, something asked stays: a line
    without a figure, which is neither met nor missed."""
    if value is None and asked is None:
        return None
    met = None
    if value is not None and asked is not None:
        met = value <= asked if at_most else value >= asked
    return {"row": row, "case": case, "what": what, "value": value, "asked": asked,
            "at_most": at_most, "unit": unit, "met": met}


def scaled(factor, value):
    return None if value is None else factor * value
