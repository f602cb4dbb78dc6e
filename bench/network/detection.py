"""How soon the loss of a rank is noticed by the last of the others, and whether all of them name it
and are left as they must be."""

import functools
import json
import math

import rows
from namespaces import Namespaces
from table import digits

LIMITS = {"KILL": 0.1, "STOP": 2.5}


def measure(bench, ranks, how):
    """The phases take turns in the program."""
    times = rows.Times()
    wrong = []

    def tell(_, stream, line):
        if stream == "stderr":
            print(f"    {line}", end="", flush=True)
            return
        trial = json.loads(line)
        if not trial["wrong"]:
            times.add(trial["phase"], f"{ranks} ranks", trial["seconds"])
            return
        wrong.append(trial)
        print(f"    {trial['phase']}, rank {trial['victim']} ended: {'; '.join(trial['wrong'])}",
              flush=True)

    command = [bench.programs.path("detection"), "--ranks", ranks, "--signal", how, "--trials",
               bench.options.trials]
    with Namespaces(1, "loopback") as network:
        ended = network.run(command, {"OPENBLAS_NUM_THREADS": "1"}, tell=tell)
    if ended[0].status != 0:
        raise SystemExit(f"bench_network_detection ended with {ended[0].status}")
    return {"ranks": ranks, "signal": how, "trials": bench.options.trials, "wrong": wrong,
            "times": times.times}


def detection_rows(bench):
    for how in LIMITS:
        for ranks in (2, 4, 8):
            yield f"SIG{how}, {ranks} ranks", functools.partial(measure, bench, ranks, how)


def percentile(values, share):
    """The least value that such a share of them does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def detection_lines(found):
    for name, row in found.items():
        done = 0
        for phase, of_phase in row["times"].items():
            ms = [1000 * seconds for seconds in of_phase[f"{row['ranks']} ranks"]]
            done += len(ms)
            yield rows.line(name, phase,
                            f"99 % of {len(ms)} noticed within (half of them within "
                            f"{digits(percentile(ms, 0.5))} ms, all within {digits(max(ms))} ms)",
                            percentile(ms, 0.99), 1000 * LIMITS[row["signal"]], True, " ms")
        yield rows.line(name, "all phases",
                        "named rightly, all after one round, nothing lost or left open",
                        100.0 * done / max(1, done + len(row["wrong"])), 100.0, unit=" %")
