"""How soon the loss of a rank is noticed by the last of the others, and whether all of them name it
and are left as they must be."""

import functools
import json
import math

import rows
from common.pages import digits
from namespaces import Namespaces

LIMITS = {"KILL": 0.1, "STOP": 2.5}
# In the order of trial.hpp.
PHASES = ("rendezvous", "handshake", "idle", "compute", "send", "reduce", "agree", "apply",
          "checkpoint")
ABOUT = ("A rank is killed or stopped in a phase of a job, and the phases take turns; all others "
         "see to it that they name it, stand as after the same round, and hold nothing more than "
         "before. Seconds are of the last of them, over all trials that went right.")


def measure(bench, ranks, how):
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
    return {"wrong": wrong, "times": times.times}


def detection_rows(bench):
    for how in LIMITS:
        for ranks in (2, 4, 8):
            yield rows.Row(f"SIG{how}, {ranks} ranks",
                           {"ranks": ranks, "signal": how, "trials": bench.options.trials},
                           functools.partial(measure, bench, ranks, how))


def percentile(values, share):
    """The least value that such a share of them does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def detection_lines(found):
    for name, row in found.items():
        asked = functools.partial(rows.line, name, at_most=True, unit=" ms",
                                  asked=1000 * LIMITS[row["signal"]])
        done = 0
        for phase in PHASES:
            of_phase = row.get("times", {}).get(phase)
            if not of_phase:
                yield asked(case=phase, what="99 % noticed within", value=None)
                continue
            ms = [1000 * seconds for seconds in of_phase[f"{row['ranks']} ranks"]]
            done += len(ms)
            yield asked(case=phase, value=percentile(ms, 0.99),
                        what=f"99 % of {len(ms)} noticed within (half of them within "
                             f"{digits(percentile(ms, 0.5))} ms, all within {digits(max(ms))} ms)")
        tried = done + len(row.get("wrong", ()))
        yield rows.line(name, "all phases",
                        "named rightly, all after one round, nothing lost or left open",
                        100.0 * done / tried if tried else None, 100.0, unit=" %")
