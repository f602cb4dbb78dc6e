#!/usr/bin/env python3
"""Dense training beside gradient dropping and Deep Gradient Compression on two larger models.

    dgc_models.py [--seeds 1 2 3] [--pairs 4 5] [--task cifar10|shakespeare] [--table]

Trains every row with every seed. Each result is a line of bench/results/dgc_models.jsonl, so an
interrupted study goes on where it stopped. A run with other options replaces its stored result.
The seeds of --pairs are for dense and PyTorch alone: whether one of them ends lower is a matter of
a thousandth, for which the other rows' seeds are few.
Then writes the table bench/results/dgc_models.md and fails if a bar is missed. --table trains nothing;
the page keeps its date and machine. Needs SOTTO_DATA, a folder that holds cifar10-sample/ and
tinyshakespeare/, and for the row "pytorch" Debian's python3-torch. Takes some hours on two cores.
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from common import project  # noqa: E402
from common.machine import facts, today  # noqa: E402
from common.pages import line_of  # noqa: E402
from common.project import BUILD  # noqa: E402
from common.store import Store  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = project.PROGRAMS / "bench_training_dgc_models"
RESULTS = Store(project.RESULTS / "dgc_models.jsonl")
PAGE = project.RESULTS / "dgc_models.md"
WORKERS = 4

TASKS = {
    "cifar10": {
        "title": "CIFAR-10 sample (10,000 images), residual CNN of 20 layers: test error in %",
        "measure": "test_error",
        "rates": [0.025, 0.05, 0.1, 0.2],
        "rows": ["dense", "gradient_dropping", "dgc"],
        "options": {"epochs": 20, "batch-size": 16, "weight-decay": 1e-4, "clip": 0,
                    "warm-up-epochs": 4},
    },
    "shakespeare": {
        "title": "Tiny Shakespeare, character LSTM: validation loss in nats a character",
        "measure": "test_loss",
        "rates": [0.5, 1.0, 2.0],
        "rows": ["dense", "dgc", "pytorch"],
        "options": {"epochs": 8, "batch-size": 8, "weight-decay": 0, "clip": 1,
                    "warm-up-epochs": 1},
    },
}


def stored(task, row, rate, seed):
    """The stored result of a row."""
    name, wanted = run_of(task, row, rate, seed)
    result = RESULTS.get(name)
    if result is None or result["options"] != wanted:
        sys.exit(f"{RESULTS.path} has no {name} with the options {wanted}")
    return result


def train(task, row, rate, seed):
    """The result of a row, trained unless it is stored: a dict, whose measures are None where the
    training diverged."""
    name, wanted = run_of(task, row, rate, seed)
    if name not in RESULTS or RESULTS.get(name)["options"] != wanted:
        RESULTS.put(name, {**train_now(name, row, wanted), "options": wanted})
    return RESULTS.get(name)


def run_of(task, row, rate, seed):
    """The name and the options of a run."""
    options = {"task": task, "row": row, "seed": seed, "learning-rate": rate,
               **TASKS[task]["options"]}
    if row == "pytorch":
        options["batches"] = "those of dense"
    return f"{task}_{row}_{rate}_{seed}", options


def train_now(name, row, wanted):
    print(f"{datetime.datetime.now():%H:%M:%S} {name}", flush=True)
    log = BUILD / "dgc_models.log"
    part = BUILD / "dgc_models.json"
    part.unlink(missing_ok=True)
    command = pytorch if row == "pytorch" else sotto
    with log.open("w") as output:
        status = subprocess.run(command(wanted, part), stdout=output, stderr=output, check=False)
    if status.returncode == 0:
        # PyTorch's losses may not be finite, and JSON has no such numbers.
        return json.loads(part.read_text(), parse_constant=lambda _: None)
    if "not finite" in log.read_text():
        return {"test_loss": None, "test_error": None}
    sys.exit(log.read_text())


def sotto(wanted, out):
    return [PROGRAM, "--out", out] + [f"--{name}={value}" for name, value in wanted.items()]


def pytorch(wanted, out):
    start, order = BUILD / "dgc_models.f32", BUILD / "dgc_models.order"
    subprocess.run([PROGRAM, "--task", wanted["task"], "--seed", str(wanted["seed"]), "--epochs",
                    str(wanted["epochs"]), "--start", start, "--order", order], check=True)
    same = ["learning-rate", "epochs", "clip"]
    # One process computes what all workers do together.
    return (["/usr/bin/python3", HERE / "character_lstm.py", "--data", os.environ["SOTTO_DATA"],
             "--start", start, "--order", order, "--out", out,
             f"--batch-size={WORKERS * wanted['batch-size']}"] +
            [f"--{name}={wanted[name]}" for name in same])


def have_torch():
    return subprocess.run(["/usr/bin/python3", "-c", "import torch"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def trained(task, seeds, result_of):
    """The grid {rate: result of dense, first seed}, its best rate, and {row: results by seed}."""
    what = TASKS[task]
    grid = {rate: result_of(task, "dense", rate, seeds[0]) for rate in what["rates"]}
    usable = {rate: found[what["measure"]] for rate, found in grid.items()
              if found[what["measure"]] is not None}
    best = min(usable, key=usable.get)
    has_pytorch = RESULTS.names(f"{task}_pytorch_*") if result_of is stored else have_torch()
    rows = [row for row in what["rows"] if row != "pytorch" or has_pytorch]
    found = {row: [] for row in rows}
    for seed in seeds:
        for row in rows:
            found[row].append(result_of(task, row, best, seed))
    steps = {result["steps"] for results in found.values() for result in results
             if "steps" in result}
    if len(steps) > 1:
        sys.exit(f"{task}: rows of {sorted(steps)} steps cannot be compared")
    return grid, best, found


def values(results, measure):
    return [float("nan") if r[measure] is None else r[measure] for r in results]


def table(task, seeds, more_seeds, result_of):
    what = TASKS[task]
    measure, options = what["measure"], what["options"]
    grid, best, found = trained(task, seeds, result_of)
    clip = f"clipped at norm {options['clip']}" if options["clip"] else "no clipping"
    lines = [
        f"## {what['title']}", "",
        f"{options['epochs']} epochs of {found['dense'][0]['steps'] // options['epochs']} steps, "
        f"batches of {options['batch-size']} a worker, weight decay {options['weight-decay']}, "
        f"{clip}; DGC warms up over {options['warm-up-epochs']} "
        f"epoch{'s' if options['warm-up-epochs'] != 1 else ''}. Learning rate {best}.", "",
        "| row | mean ± deviation | each seed | gradient / message, whole run | after warm-up |",
        "|---|---|---|---|---|"]
    ends = {row: values(results, measure) for row, results in found.items()}
    for row, results in found.items():
        spread = statistics.stdev(ends[row]) if len(ends[row]) > 1 else 0.0
        ratios = "- | -" if row == "pytorch" else " | ".join(
            f"{statistics.mean(r['dense_bytes' + p] / r['message_bytes' + p] for r in results):.0f}"
            for p in ("", "_last_epoch"))
        each = " ".join(f"{end:.3f}" for end in ends[row])
        lines.append(f"| {row} | {statistics.mean(ends[row]):.3f} ± {spread:.3f} | {each} | {ratios} |")
    lines += ["", f"| learning rate | dense, seed {seeds[0]} |", "|---|---|"]
    lines += [f"| {rate} | {values([r], measure)[0]:.3f} |" for rate, r in grid.items()]
    held = bars(task, {row: statistics.mean(ends[row]) for row in found})
    if "pytorch" in found:
        pairs = list(zip(ends["dense"], ends["pytorch"]))
        for seed in more_seeds:
            pairs.append(values([result_of(task, row, best, seed) for row in ("dense", "pytorch")],
                                measure))
        lines += ["", "| seed | dense | PyTorch |", "|---|---|---|"]
        lines += [f"| {seed} | {ours:.4f} | {theirs:.4f} |"
                  for seed, (ours, theirs) in zip(seeds + more_seeds, pairs)]
        held.append(beside_pytorch(pairs))
    return lines, held


def bars(task, mean):
    """(what is asked, the figure, held?) of each bar, from what the rows ended at."""
    if task == "cifar10":
        behind = mean["dgc"] - mean["dense"]
        return [("DGC at most 1.0 points behind dense", f"{behind:+.2f} points", behind <= 1.0)]
    behind = mean["dgc"] / mean["dense"] - 1
    return [("DGC's loss at most 1 % above dense", f"{behind:+.2%}", behind <= 0.01)]


def beside_pytorch(pairs):
    """The bar of dense beside PyTorch, which had the same model, start and batches: what is left is
    rounding, which training makes large. So its standard error is told too."""
    worse = [ours / theirs - 1 for ours, theirs in pairs]
    error = f" ± {statistics.stdev(worse) / len(worse) ** 0.5:.2%}" if len(worse) > 1 else ""
    return (f"dense no worse than PyTorch (mean ± standard error of {len(worse)} pairs)",
            f"{statistics.mean(worse):+.2%}{error}", statistics.mean(worse) <= 0.0)


def prepare():
    """What trainings need: data, the environment, and the program."""
    if "SOTTO_DATA" not in os.environ:
        sys.exit("set SOTTO_DATA to a folder that holds cifar10-sample/ and tinyshakespeare/")
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    # OpenBLAS knows no newer processors than it is itself, and takes a slower kernel for them.
    if "avx512dq" in facts().get("flags", ""):
        os.environ["OPENBLAS_CORETYPE"] = "SKYLAKEX"
    project.build(PROGRAM)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--pairs", type=int, nargs="+", default=[],
                        help="more seeds, for dense beside PyTorch alone")
    parser.add_argument("--task", choices=TASKS, help="that one alone, without writing the table")
    parser.add_argument("--table", action="store_true", help="trains nothing")
    asked = parser.parse_args()
    measured = f"{today()}."
    if asked.table:
        measured = line_of(PAGE, 3, measured)
    else:
        prepare()

    lines = ["# Dense training beside Deep Gradient Compression on larger models", "", measured,
             "Command: `SOTTO_DATA=... bench/training/dgc_models.py --seeds "
             f"{' '.join(map(str, asked.seeds))}"
             f"{' --pairs ' + ' '.join(map(str, asked.pairs)) if asked.pairs else ''}`", "",
             "Four workers, momentum 0.9, density 0.001. One learning rate for all rows of a task:",
             "the best for dense of the grid below it, falling by a cosine to 0. Mean and standard",
             "deviation over seeds; every row of a seed begins with the same weights and has the same",
             "batches in the same order, PyTorch's too.",
             ""]
    held = []
    for task in [asked.task] if asked.task else TASKS:
        more, of_task = table(task, asked.seeds, asked.pairs, stored if asked.table else train)
        lines += more + [""]
        held += of_task
    lines += ["## Bars", "", "| asked | found | held |", "|---|---|---|"]
    lines += [f"| {what} | {figure} | {'yes' if ok else 'missed'} |" for what, figure, ok in held]
    if not asked.table:
        RESULTS.sort()
    text = "\n".join(lines) + "\n"
    if not asked.task:
        PAGE.write_text(text)
    print(text)
    sys.exit(0 if all(ok for _, _, ok in held) else 1)


main()
