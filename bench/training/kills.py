#!/usr/bin/env python3
"""Processes of a parameter server's job over TCP, killed at random moments of the training and
started again.

    kills.py [--trials N] [--program FILE] [--table]

Each run is a line of bench/results/kills.jsonl, so an interrupted study goes on where it stopped. The
table bench/results/kills.md is made from these lines; with --table it keeps its date and machine. Needs
SOTTO_DATA, a folder that holds mnist/; what else is missing cmake/install_debian.sh installs."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from common import project  # noqa: E402
from common.machine import today  # noqa: E402
from common.pages import line_of, table_row, table_rule  # noqa: E402
from common.store import Store  # noqa: E402

RESULTS = Store(project.RESULTS / "kills.jsonl")
PAGE = project.RESULTS / "kills.md"
PROGRAM = project.PROGRAMS / "bench_training_kills"

KINDS = {"none": "no process", "worker": "a worker", "half": "two of four workers",
         "server": "the server"}
SERVER = 0
ASKED = 0.5  # points of test error, at most, between a kind's mean and that without kills


def run(program, kind, seed):
    name = f"{kind}_{seed}"
    if name not in RESULTS:
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "result.json"
            subprocess.run([program, "--victims", kind, "--seed", str(seed), "--out", out,
                            "--folder", f"{folder}/job"], check=True,
                           env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
            RESULTS.put(name, json.loads(out.read_text()))
    return RESULTS.get(name)


def of_server(result):
    return result["ranks"][SERVER]


def all_killed(result):
    """Whether all that were to be killed were there to be, before all rounds were done."""
    return (result["killed"] == result["asked"] != []
            and result["rounds"] < result["rounds_of_all"])


def came_too_late(result, rank):
    """Whether it was started again, and the job was over before it was back: it says so, and the
    server had ended well."""
    if rank["rank"] not in result["killed"] or rank["rank"] == SERVER or rank["hung"]:
        return False
    why = rank.get("error", "")
    over = rank.get("blames") == SERVER and "its job is over" in why
    gone = "was not let into its job" in why and of_server(result)["ended"] < rank["ended"]
    return of_server(result)["status"] == 0 and (over or gone)


def hung(result):
    return any(r["hung"] for r in result["ranks"])


def ended_well(result):
    return not hung(result) and all(r["status"] == 0 or came_too_late(result, r)
                                    for r in result["ranks"])


def losses_named(result):
    """Whether every rank that was killed is named by who should know: a worker by the server, the
    server by all workers."""
    if SERVER in result["killed"]:
        tell = [r for r in result["ranks"] if r["rank"] != SERVER]
    else:
        tell = [of_server(result)]
    return all({l["rank"] for l in r.get("lost", [])} >= set(result["killed"]) for r in tell)


def nobody_else_named(result):
    return all(l["rank"] in result["killed"] for r in result["ranks"] for l in r.get("lost", []))


def write_table(measured):
    """The page; `measured` is its line on when, where and how."""
    found = {kind: RESULTS.results(f"{kind}_*") for kind in KINDS}
    any_run = next(r for runs in found.values() for r in runs)
    lines = ["# Processes that are killed", "", measured, "",
             "A server and four workers over TCP, asynchronous with DC-ASGD-a, MLP 784-64-64-10 on "
             "12,000 images of MNIST, 10 passes, rate 0.05, batch 32; the server saves every 100 "
             f"steps. The workers together do {any_run['rounds_of_all']} rounds. SIGKILL a random "
             "number of these after the beginning, and a random part of a round more; at once a "
             "new process in its place.", "",
             "- moment: the least and the most part of all rounds that were done when the signal "
             "was sent",
             "- ended well: every process returned, no rank gave up. Who is started again when the "
             "job is over may only say that; how many did is beside it",
             "- named: the server names all workers that were killed, or all workers the server; "
             "and no process names another rank",
             "- test error in %: mean, median, and the least to the most; \"near\": runs within "
             f"{ASKED} points of the mean of runs without kills", "",
             "| killed | runs | killed in training | moment | ended well | too late to come again "
             "| hung | named | test error | near | difference from the mean without kills |", table_rule(11)]
    mean = statistics.mean(of_server(r)["test_error"] for r in found["none"])
    for kind, name in KINDS.items():
        runs = found[kind]
        if not runs:
            continue
        errors = [of_server(r)["test_error"] for r in runs if "test_error" in of_server(r)]
        row = [name, len(runs), "", "", sum(map(ended_well, runs)), "", sum(map(hung, runs)),
               sum(losses_named(r) and nobody_else_named(r) for r in runs),
               f"{statistics.mean(errors):.2f}, {statistics.median(errors):.2f} "
               f"({min(errors):.2f} to {max(errors):.2f})",
               sum(abs(e - mean) <= ASKED for e in errors), ""]
        if kind != "none":
            when = [r["rounds"] / r["rounds_of_all"] for r in runs]
            row[2] = sum(map(all_killed, runs))
            row[3] = f"{min(when):.3f} to {max(when):.3f}"
            row[5] = sum(came_too_late(r, rank) for r in runs for rank in r["ranks"])
            row[10] = f"{statistics.mean(errors) - mean:+.2f} (asked {ASKED} at most)"
        lines.append(table_row(row))
    for runs in found.values():
        for r in runs:
            if not ended_well(r) or not losses_named(r) or not nobody_else_named(r):
                lines += ["", f"Not as it should be: {r['victims']}, seed {r['seed']}."]
    PAGE.write_text("\n".join(lines) + "\n")
    print(PAGE.relative_to(project.ROOT))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--program", type=pathlib.Path, help="built already")
    parser.add_argument("--table", action="store_true", help="trains nothing")
    asked = parser.parse_args()
    measured = f"{today()}. Command: `SOTTO_DATA=FOLDER bench/training/kills.py`"
    if asked.table:
        measured = line_of(PAGE, 3, measured)
    else:
        if "SOTTO_DATA" not in os.environ:
            sys.exit("SOTTO_DATA must be a folder that holds mnist/")
        if not asked.program:
            project.build(PROGRAM)
        for seed in range(1, asked.trials + 1):
            for kind in KINDS:
                found = run(asked.program or PROGRAM, kind, seed)
                print(f"{kind} {seed}: killed {found['killed']} after {found['rounds']} of "
                      f"{found['rounds_of_all']} rounds, ended "
                      f"{'well' if ended_well(found) else 'otherwise'} after "
                      f"{found['seconds']:.1f} s", flush=True)
        RESULTS.sort()
    write_table(measured)


if __name__ == "__main__":
    main()
