#!/usr/bin/env python3
"""Processes of a parameter server's job over TCP, killed at random moments and started again.

    kills.py [--trials N] [--table]

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


def run(kind, seed, within):
    path = RESULTS / f"{kind}_{seed}.json"
    if path.exists():
        return json.loads(path.read_text())
    part = path.with_suffix(".part")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, "--victims", kind, "--seed", str(seed), "--out", part,
                        "--folder", f"{folder}/job", "--within", f"{within:.2f}"], check=True,
                       env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    part.rename(path)
    return json.loads(path.read_text())


def of_server(result):
    return next(r for r in result["ranks"] if r["rank"] == SERVER)


def losses_named(result):
    """Whether every rank that was killed is named by who should know: a worker by the server, the
    server by all workers."""
    if result["victims"] == "server":
        tell = [r for r in result["ranks"] if r["rank"] != SERVER]
    else:
        tell = [of_server(result)]
    return all({l["rank"] for l in r["lost"]} >= set(result["killed"]) for r in tell)


def write_table(trials):
    processor = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                     if line.startswith("model name"))
    found = {kind: [json.loads(p.read_text()) for p in sorted(RESULTS.glob(f"{kind}_*.json"))]
             for kind in KINDS}
    lines = ["# Processes that are killed", "",
             f"{datetime.date.today()}, {processor}, {os.cpu_count()} processors. Command: "
             "`SOTTO_DATA=FOLDER bench/training/kills.py`", "",
             "A server and four workers over TCP, asynchronous with DC-ASGD-a, MLP 784-64-64-10 on "
             "12,000 images of MNIST, 5 passes, rate 0.05, batch 32. SIGKILL at a random moment of "
             "the run, at once a new process in its place; the server saves every 100 steps. "
             "\"Named\": by the server, or by all workers where it is the server that was killed. "
             "Test error in %: median, and the least to the most.", "",
             "| killed | runs | killed in time | ended, all ranks well | hung | losses named | test "
             "error | mean, beside nobody's |", "|---" * 8 + "|"]
    mean = statistics.mean(of_server(r)["test_error"] for r in found["none"])
    for kind, name in KINDS.items():
        runs = found[kind]
        if not runs:
            continue
        well = [r for r in runs if r["ended_wrongly"] == 0 and not r["hung"]]
        errors = [of_server(r)["test_error"] for r in well]
        lines.append(
            f"| {name} | {len(runs)} | {sum(bool(r['killed']) for r in runs)} | {len(well)} | "
            f"{sum(r['hung'] for r in runs)} | {sum(losses_named(r) for r in well)} | "
            f"{statistics.median(errors):.2f} ({min(errors):.2f} to {max(errors):.2f}) | "
            f"{statistics.mean(errors) - mean:+.2f} (asked 0.5 at most) |")
    path = ROOT / "bench" / "results" / "kills.md"
    path.write_text("\n".join(lines) + "\n")
    print(path.relative_to(ROOT))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--table", action="store_true", help="trains nothing")
    asked = parser.parse_args()
    if not asked.table:
        if "SOTTO_DATA" not in os.environ:
            sys.exit("SOTTO_DATA must be a folder that holds mnist/")
        subprocess.run([ROOT / "cmake" / "install_debian.sh", "bench"], check=True)
        subprocess.run(["cmake", "--preset", "bench", "-S", ROOT], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", BUILD, "--target", PROGRAM.name], check=True,
                       stdout=subprocess.DEVNULL)
        RESULTS.mkdir(parents=True, exist_ok=True)
        took = [run("none", seed, 0)["seconds"] for seed in range(1, asked.trials + 1)]
        within = 0.9 * statistics.median(took)
        for kind in list(KINDS)[1:]:
            for seed in range(1, asked.trials + 1):
                found = run(kind, seed, within)
                print(f"{kind} {seed}: killed {found['killed']} after {found['moment']:.2f} s, "
                      f"ended wrongly {found['ended_wrongly']}", flush=True)
    write_table(asked.trials)


if __name__ == "__main__":
    main()
