"""One row of results is one file: what was measured in turns on one network. Medians count."""

import json
import statistics


def slowest_ranks(records):
    """{(contestant, bytes): median over rounds of the slowest rank's seconds}, of the objects that
    all ranks printed in one run."""
    by_case = {}
    for record in records:
        by_case.setdefault((record["contestant"], record["bytes"]), []).append(record["seconds"])
    return {case: statistics.median(max(seconds) for seconds in zip(*of_ranks))
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


def medians(row, case):
    """{contestant: median of its turns}."""
    return {name: statistics.median(seconds) for name, seconds in row["times"][case].items()}


def least(found, prefix):
    """The fastest contestant whose name begins so, and its seconds; (None, None) without."""
    of_them = {name: s for name, s in found.items() if name.startswith(prefix)}
    best = min(of_them, key=of_them.get, default=None)
    return best, of_them.get(best)


def line(row, case, what, ratio, asked=None, at_most=False, unit=""):
    """A figure, and whether it is what is asked; None where there is no figure."""
    if ratio is None:
        return None
    met = None if asked is None else (ratio <= asked if at_most else ratio >= asked)
    return {"row": row, "case": case, "what": what, "ratio": ratio, "asked": asked,
            "at_most": at_most, "unit": unit, "met": met}


def ratio(over, under):
    return None if over is None or under is None else over / under


def write(path, row):
    part = path.with_suffix(".part")
    part.write_text(json.dumps(row, indent=1) + "\n")
    part.rename(path)


def grouped(count):
    return f"{count:,}".replace(",", " ")
