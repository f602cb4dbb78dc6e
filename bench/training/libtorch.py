#!/usr/bin/env python3
"""A module of LibTorch trained by sotto: dense beside Deep Gradient Compression, and what a step takes
beside a loop that is written by hand.

    libtorch.py [--seeds 1 2 3] [--jobs 1] [--table] [--quick]

Each run is a line of bench/results/libtorch.jsonl, so an interrupted study goes on where it stopped.
The table bench/results/libtorch.md is made from these lines; --table makes it of what is there. --quick
only tries whether all can run, in a file of its own. Needs SOTTO_DATA, a folder that holds
cifar10-sample/, and LibTorch. Fails if a bar is missed. What a step takes is measured last, alone."""

import argparse
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import study  # noqa: E402
from common import project  # noqa: E402
from common.store import Store  # noqa: E402

STUDY = project.PROGRAMS / "bench_training_libtorch"
ADAPTER = project.PROGRAMS / "bench_training_torch_adapter"
OPTIONS = {"epochs": 20, "batch_size": 16, "learning_rate": 0.1, "weight_decay": 1e-4}
ROWS = {"dense": {}, "dgc": {"density": 0.001, "warm_up_epochs": 4}}
QUICK = {"epochs": 1, "examples": 128}
BEHIND_MOST = 1.0  # points of accuracy
OVERHEAD_MOST = 0.02
TIMES = {"residual_cnn": {"batch_size": 32, "steps": 10, "turns": 15},
         "mlp": {"batch_size": 64, "steps": 200, "turns": 15}}


def accuracy(result):
    return 100 - result["test_error"]


def runs(store, seeds, quick):
    """{row: its runs}, and {model: the run of what a step takes}."""
    options = OPTIONS | (QUICK if quick else {})
    trained = {row: [study.Run(store, STUDY, f"{row}_{seed}", row=row, seed=seed, **options, **more)
                     for seed in seeds] for row, more in ROWS.items()}
    timed = {model: study.Run(store, ADAPTER, f"step_{model}", model=model,
                              **(more | ({"steps": 2, "turns": 1} if quick else {})))
             for model, more in TIMES.items()}
    return trained, timed


def training_lines(trained, claims):
    rows = {row: study.Row(of_row) for row, of_row in trained.items()}
    yield "## Dense beside Deep Gradient Compression"
    yield ""
    yield ("The ResNet-20 as a `torch::nn::Module` on 10,000 images of CIFAR-10, four workers in one "
           f"process, {OPTIONS['epochs']} epochs, batches of {OPTIONS['batch_size']} a worker, momentum "
           f"0.9, weight decay {OPTIONS['weight_decay']}, learning rate {OPTIONS['learning_rate']} "
           "falling by a cosine to 0; of a seed both begin with the same weights and read the same "
           "batches. DGC sends one entry in a thousand after a warm-up of "
           f"{ROWS['dgc']['warm_up_epochs']} epochs.")
    yield ""
    yield "| row | seeds | accuracy in % | test loss | gradient / message, last epoch | sent in all |"
    yield "|---|---|---|---|---|---|"
    for name, row in rows.items():
        if len(row) == 0:
            continue
        smaller = row.mean(lambda r: r["dense_bytes_last_epoch"] / r["message_bytes_last_epoch"])
        yield (f"| {name} | {len(row)} | {row.cell(accuracy, 2)} | {row.cell('test_loss', 3)} | "
               f"{smaller:.0f} | {row.mean('bytes_sent') / 2**20:.1f} MiB |")
    yield ""
    if all(len(row) > 0 for row in rows.values()):
        behind = rows["dense"].mean(accuracy) - rows["dgc"].mean(accuracy)
        claims.add(f"DGC's accuracy at most {BEHIND_MOST} points below dense",
                   f"{behind:+.2f} points below", behind <= BEHIND_MOST)
        return all(len(row) >= 3 for row in rows.values()) and behind <= BEHIND_MOST
    return False


def timing_lines(timed, claims):
    yield "## A step beside a loop written by hand"
    yield ""
    yield ("One rank, one thread, the same module, start, batches and momentum SGD, in turns; medians. "
           "`torch::optim::SGD` steps the one, sotto's trainer the other. Computing: zeroed gradients, forward, "
           "loss and backward, which is what the adapter has a part in. Apart: the distance of the two "
           "networks after the first step and at the end, as a part of the way that they have come: "
           "rounding, which training makes large.")
    yield ""
    yield ("| model | parameters | by hand | sotto | sotto / by hand | of computing alone | "
           "parameters apart |")
    yield "|---|---|---|---|---|---|---|"
    held = True
    for model, run in timed.items():
        result = run.result()
        if result is None:
            held = False
            continue
        yield (f"| {model} | {result['parameters']:,} | {result['by_hand_ms']:.3f} ms | "
               f"{result['sotto_ms']:.3f} ms | {result['ratio']:.3f} | "
               f"{result['ratio_of_computing']:.3f} | {result['parameters_apart_after_a_step']:.1e}, "
               f"{result['parameters_apart']:.1e} |")
        whole = result["ratio"] - 1
        claims.add(f"{model}: a whole step at most {OVERHEAD_MOST:.0%} above one by hand",
                   f"{whole:+.1%}", whole <= OVERHEAD_MOST)
        above = result["ratio_of_computing"] - 1
        held = held and above <= OVERHEAD_MOST
        claims.add(f"{model}: computing by the adapter at most {OVERHEAD_MOST:.0%} above by hand",
                   f"{above:+.1%}", above <= OVERHEAD_MOST)
    yield ""
    return held


def table(trained, timed):
    """The text, and whether all bars held."""
    lines, claims = [], study.Claims()

    def take(some):
        held = yield from some
        return held

    def collect(some):
        taking = take(some)
        while True:
            try:
                lines.append(next(taking))
            except StopIteration as end:
                return end.value

    held = [collect(training_lines(trained, claims)), collect(timing_lines(timed, claims))]
    every = [run for of_row in trained.values() for run in of_row] + list(timed.values())
    head = ["# Modules of LibTorch", "",
            "Command: `SOTTO_DATA=... bench/training/libtorch.py`. Time per step over a network: section "
            "`libtorch` of [network.md](network.md).", "", *study.measured(every)]
    return "\n".join(head + claims.table() + lines).rstrip() + "\n", all(held)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--jobs", type=int, default=1, help="trainings side by side")
    parser.add_argument("--table", action="store_true", help="of what is there")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--programs", help="a folder with the two programs, built already")
    asked = parser.parse_args()
    if asked.programs:
        global STUDY, ADAPTER
        STUDY, ADAPTER = (os.path.join(asked.programs, program.name) for program in (STUDY, ADAPTER))
    store = Store(project.BUILD / "libtorch_quick.jsonl" if asked.quick else
                  project.RESULTS / "libtorch.jsonl")
    trained, timed = runs(store, asked.seeds[:1] if asked.quick else asked.seeds, asked.quick)
    if not asked.table:
        if "SOTTO_DATA" not in os.environ:
            sys.exit("set SOTTO_DATA to a folder that holds cifar10-sample/")
        if not asked.programs:
            subprocess.run([project.ROOT / "cmake" / "install_debian.sh", "torch"], check=True)
            project.build(STUDY, ADAPTER)
        study.do_all([run for of_row in trained.values() for run in of_row], asked.jobs)
        study.do_all(timed.values(), 1)
    text, held = table(trained, timed)
    if asked.quick:
        print(text)
        return
    (project.RESULTS / "libtorch.md").write_text(text)
    print(text)
    sys.exit(0 if held else 1)


main()
