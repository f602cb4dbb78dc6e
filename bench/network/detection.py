"""How soon the loss of a rank is noticed by the last of the others, and whether all name it."""

import functools
import json
import subprocess
import tempfile
import time

import rows
from namespaces import Namespaces, kill_group

PHASES = ("rendezvous", "idle", "compute", "send", "reduce", "apply", "checkpoint")
LIMITS = {"KILL": 0.1, "STOP": 2.5}
TOO_LATE = 30.0


def trial(bench, network, program, phase, how, victim):
    """Seconds from its end until the last survivor noticed; None if anything was not as it must
    be, and what."""
    # In the rendezvous nobody goes on before the last rank is there: it never comes.
    starting = network.ranks - 1 if phase == "rendezvous" else network.ranks
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--victim", victim, "--phase", phase, "--signal", how, "--folder",
                   f"{folder}/run"]
        outputs, processes = [], []
        try:
            for rank in range(starting):
                outputs.append(open(f"{folder}/{rank}", "w+"))
                processes.append(network.start(rank, command, stdout=outputs[-1]))
            deadline = time.monotonic() + TOO_LATE
            for rank, process in enumerate(processes):
                if rank != victim:
                    process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None, f"{phase}: rank {rank} noticed nothing within {TOO_LATE:g} s"
        finally:
            for process in processes:
                kill_group(process)
        found = []
        for output in outputs:
            output.seek(0)
            found.append([json.loads(line) for line in output])
            output.close()
    died = next((o["died"] for o in found[victim] if "died" in o), None)
    if died is None:
        return None, f"{phase}: the victim did not end there"
    others = [objects[-1] if objects else None for rank, objects in enumerate(found)
              if rank != victim]
    for other in others:
        if other is None or "noticed" not in other:
            return None, f"{phase}: a rank ended without saying why"
        if other["named"] != victim:
            return None, f"{phase}: rank {victim} ended; rank {other['rank']} says {other['what']}"
    if len({(other["round"], other["digest"]) for other in others}) != 1:
        return None, f"{phase}: the survivors stand at different rounds or parameters"
    return max(other["noticed"] for other in others) - died, None


def measure(bench, ranks, how):
    program = bench.programs.path("detection")
    times = rows.Times()
    wrong = []
    with Namespaces(ranks, "loopback") as network:
        for number in range(bench.options.trials):
            for phase in PHASES:
                if phase == "rendezvous" and ranks < 3:
                    continue  # the last one's hello would end it
                living = ranks - 1 if phase == "rendezvous" else ranks
                seconds, why = trial(bench, network, program, phase, how, number % living)
                if why:
                    wrong.append(why)
                    print(f"    {why}", flush=True)
                else:
                    times.add(phase, f"{ranks} ranks", seconds)
    return {"ranks": ranks, "signal": how, "trials": bench.options.trials, "wrong": wrong,
            "times": times.times}


def detection_rows(bench):
    for how in LIMITS:
        for ranks in (2, 4) if bench.options.quick else (2, 4, 8):
            yield f"SIG{how}, {ranks} ranks", functools.partial(measure, bench, ranks, how)


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def detection_lines(found):
    for name, row in found.items():
        done = 0
        for phase, of_phase in row["times"].items():
            seconds = of_phase[f"{row['ranks']} ranks"]
            done += len(seconds)
            limit = LIMITS[row["signal"]]
            yield rows.line(name, phase, f"99 % of {len(seconds)} noticed within",
                            1000 * percentile(seconds, 0.99), 1000 * limit, True, " ms")
        yield rows.line(name, "all phases", "named rightly by all survivors, which agree",
                        100.0 * done / max(1, done + len(row["wrong"])), 100.0, unit=" %")
