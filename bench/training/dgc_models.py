#!/usr/bin/env python3
"""Dense training beside gradient dropping and Deep Gradient Compression on two larger models.

    dgc_models.py [--seeds 1 2 3] [--pairs 4 5] [--task cifar10|shakespeare]

Trains every row with every seed and stores one result each under bench/results/dgc_models, so that
a run that was interrupted goes on where it stopped; a result of other options is trained anew.
The seeds of --pairs are for dense and PyTorch alone: whether one of them ends lower is a matter of
a thousandth, for which the other rows' seeds are few.
Then writes the table bench/results/dgc_models.md and fails if a bar is missed. Needs SOTTO_DATA, a
folder that holds cifar10-sample/ and tinyshakespeare/, and for the row "pytorch" Debian's
python3-torch. Takes some hours on two cores.
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "bench"
PROGRAM = BUILD / "bench" / "bench_training_dgc_models"
RESULTS = ROOT / "bench" / "results" / "dgc_models"
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


def train(task, row, rate, seed):
    """The result of a row, trained unless it is stored: a dict, whose measures are None where the
    training diverged."""
    wanted = {"task": task, "row": row, "seed": seed, "learning-rate": rate,
              **TASKS[task]["options"]}
    if row == "pytorch":
        wanted["batches"] = "those of dense"
    file = RESULTS / f"{task}_{row}_{rate}_{seed}.json"
    if file.exists():
        stored = json.loads(file.read_text())
        if stored["options"] == wanted:
            return stored
    print(f"{datetime.datetime.now():%H:%M:%S} {file.stem}", flush=True)
    log = BUILD / "dgc_models.log"
    part = BUILD / "dgc_models.json"
    part.unlink(missing_ok=True)
    command = pytorch if row == "pytorch" else sotto
    with log.open("w") as output:
        status = subprocess.run(command(wanted, part), stdout=output, stderr=output, check=False)
    if status.returncode == 0:
        result = json.loads(part.read_text())
    elif "not finite" in log.read_text():
        result = {"test_loss": None, "test_error": None}
    else:
        sys.exit(log.read_text())
    result["options"] = wanted
    part.write_text(json.dumps(result, indent=1) + "\n")
    part.rename(file)
    return result


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


def trained(task, seeds):
    """The grid {rate: result of dense, first seed}, its best rate, and {row: results by seed}."""
    what = TASKS[task]
    grid = {rate: train(task, "dense", rate, seeds[0]) for rate in what["rates"]}
    usable = {rate: found[what["measure"]] for rate, found in grid.items()
              if found[what["measure"]] is not None}
    best = min(usable, key=usable.get)
    rows = [row for row in what["rows"] if row != "pytorch" or have_torch()]
    found = {row: [] for row in rows}
    for seed in seeds:
        for row in rows:
            found[row].append(train(task, row, best, seed))
    steps = {result["steps"] for results in found.values() for result in results
             if "steps" in result}
    if len(steps) > 1:
        sys.exit(f"{task}: rows of {sorted(steps)} steps cannot be compared")
    return grid, best, found


def values(results, measure):
    return [float("nan") if r[measure] is None else r[measure] for r in results]


def table(task, seeds, more_seeds):
    what = TASKS[task]
    measure, options = what["measure"], what["options"]
    grid, best, found = trained(task, seeds)
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
            pairs.append(values([train(task, row, best, seed) for row in ("dense", "pytorch")],
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--pairs", type=int, nargs="+", default=[],
                        help="more seeds, for dense beside PyTorch alone")
    parser.add_argument("--task", choices=TASKS, help="that one alone, without writing the table")
    asked = parser.parse_args()
    if "SOTTO_DATA" not in os.environ:
        sys.exit("set SOTTO_DATA to a folder that holds cifar10-sample/ and tinyshakespeare/")
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text()
    # OpenBLAS knows no newer processors than it is itself, and takes a slower kernel for them.
    if "avx512dq" in cpuinfo:
        os.environ["OPENBLAS_CORETYPE"] = "SKYLAKEX"
    for command in ([ROOT / "cmake" / "install_debian.sh", "bench"],
                    ["cmake", "--preset", "bench", "-S", ROOT],
                    ["cmake", "--build", BUILD, "--target", "bench_training_dgc_models"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    RESULTS.mkdir(parents=True, exist_ok=True)

    model = next(line.split(": ")[1] for line in cpuinfo.splitlines()
                 if line.startswith("model name"))
    lines = ["# Dense training beside Deep Gradient Compression on larger models", "",
             f"{datetime.date.today()}, {model}, {os.cpu_count()} cores.",
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
        more, of_task = table(task, asked.seeds, asked.pairs)
        lines += more + [""]
        held += of_task
    lines += ["## Bars", "", "| asked | found | held |", "|---|---|---|"]
    lines += [f"| {what} | {figure} | {'yes' if ok else 'missed'} |" for what, figure, ok in held]
    text = "\n".join(lines) + "\n"
    if not asked.task:
        (ROOT / "bench" / "results" / "dgc_models.md").write_text(text)
    print(text)
    sys.exit(0 if all(ok for _, _, ok in held) else 1)


main()
