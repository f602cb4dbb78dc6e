#!/usr/bin/env python3
"""Processes of a parameter server's job over TCP, killed at random moments of the training and
started again.

    kills.py [--trials N] [--program FILE] [--table]

Every run is stored in bench/results/kills, so that one that was interrupted goes on where it
stopped; then bench/results/kills.md is made of all. Needs SOTTO_DATA, a folder that holds mnist/;
what else is missing cmake/install_debian.sh installs."""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "bench"
RESULTS = ROOT / "bench" / "results" / "kills"
PROGRAM = BUILD / "bench" / "bench_training_kills"

KINDS = {"none": "nobody", "worker": "a worker", "half": "two of four workers",
         "server": "the server"}
SERVER = 0
ASKED = 0.5  # points of test error, at most, between a kind's mean and nobody's


def run(program, kind, seed):
    path = RESULTS / f"{kind}_{seed}.json"
    if path.exists():
        return json.loads(path.read_text())
    part = path.with_suffix(".part")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "--victims", kind, "--seed", str(seed), "--out", part,
                        "--folder", f"{folder}/job"], check=True,
                       env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    part.rename(path)
    return json.loads(path.read_text())


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


def write_table():
    processor = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                     if line.startswith("model name"))
    found = {kind: [json.loads(p.read_text()) for p in sorted(RESULTS.glob(f"{kind}_*.json"))]
             for kind in KINDS}
    any_run = next(r for runs in found.values() for r in runs)
    lines = ["# Processes that are killed", "",
             f"{datetime.date.today()}, {processor}, {os.cpu_count()} processors. Command: "
             "`SOTTO_DATA=FOLDER bench/training/kills.py`", "",
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
             "and nobody names a rank that was not",
             "- test error in %: mean, median, and the least to the most; \"near\": runs within "
             f"{ASKED} points of the mean of those in which nobody is killed", "",
             "| killed | runs | killed in training | moment | ended well | too late to come again "
             "| hung | named | test error | near | mean, beside nobody's |", "|---" * 11 + "|"]
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
        lines.append("| " + " | ".join(map(str, row)) + " |")
    for runs in found.values():
        for r in runs:
            if not ended_well(r) or not losses_named(r) or not nobody_else_named(r):
                lines += ["", f"Not as it should be: {r['victims']}, seed {r['seed']}."]
    path = ROOT / "bench" / "results" / "kills.md"
    path.write_text("\n".join(lines) + "\n")
    print(path.relative_to(ROOT))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--program", type=pathlib.Path, help="built already")
    parser.add_argument("--table", action="store_true", help="trains nothing")
    asked = parser.parse_args()
    if not asked.table:
        if "SOTTO_DATA" not in os.environ:
            sys.exit("SOTTO_DATA must be a folder that holds mnist/")
        if not asked.program:
            subprocess.run([ROOT / "cmake" / "install_debian.sh", "bench"], check=True)
            subprocess.run(["cmake", "--preset", "bench", "-S", ROOT], check=True,
                           stdout=subprocess.DEVNULL)
            subprocess.run(["cmake", "--build", BUILD, "--target", PROGRAM.name], check=True,
                           stdout=subprocess.DEVNULL)
        RESULTS.mkdir(parents=True, exist_ok=True)
        for seed in range(1, asked.trials + 1):
            for kind in KINDS:
                found = run(asked.program or PROGRAM, kind, seed)
                print(f"{kind} {seed}: killed {found['killed']} after {found['rounds']} of "
                      f"{found['rounds_of_all']} rounds, ended "
                      f"{'well' if ended_well(found) else 'otherwise'} after "
                      f"{found['seconds']:.1f} s", flush=True)
    write_table()


if __name__ == "__main__":
    main()
