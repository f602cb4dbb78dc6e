"""Training over shaped links beside PyTorch's DistributedDataParallel: steps a second, time with
DGC's warm-up, validation loss, and from which bandwidth on compressing no longer pays."""

import functools
import math
import os
import pathlib
import statistics

import rows
from namespaces import Namespaces, bits_per_second
from programs import HERE, PYTHON, run_on_all, run_quietly

RANKS = 4
# Batch of a rank, learning rate, steps a rank has in an epoch.
MODELS = {"mlp": (64, 0.05, 235), "residual_cnn": (64, 0.05, 40),
          "character_lstm": (32, 0.5, 123)}
CROSSOVER_RATES = ("100mbit", "300mbit", "1gbit", "3gbit", "10gbit")
# Steps that count in no median: of DGC's warm-up, of which each of four stages has at least one;
# and the first of all, which take memory.
WARM_UP_STEPS, FIRST_STEPS = 8, 2


def environment():
    """One thread a rank, and the same kernels for all: OpenBLAS knows no newer processors than it
    is itself, and takes a slower kernel for them."""
    found = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if "avx512dq" in pathlib.Path("/proc/cpuinfo").read_text():
        found["OPENBLAS_CORETYPE"] = os.environ.get("OPENBLAS_CORETYPE", "SKYLAKEX")
    return found


def shared_arguments(model, steps):
    batch, rate, _ = MODELS[model]
    return ["--model", model, "--steps", steps, "--batch-size", batch, "--learning-rate", rate]


def exported(bench, model, seed, steps):
    """Where ddp.py finds what training.cpp begins with."""
    folder = bench.options.build / "export" / f"{model}_{seed}_{steps}"
    if not (folder / "about.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        run_quietly(bench.programs.path("training"), *shared_arguments(model, steps), "--seed",
                    seed, "--export", folder)
    return folder


def run_sotto(bench, network, model, steps, compressor, *more):
    command = [bench.programs.path("training"), *shared_arguments(model, steps), "--compressor",
               compressor, *more]
    return run_on_all(network, command, environment())[0]


def run_ddp(bench, network, model, steps, hook, *more, seed=1):
    command = [PYTHON, HERE / "ddp.py", *shared_arguments(model, steps), "--data",
               exported(bench, model, seed, steps), "--hook", hook, *more]
    return run_on_all(network, command, environment())[0]


def step_seconds(record, skipped):
    return statistics.median(record["step_seconds"][skipped:])


def require_same_blas(kernels):
    if len(kernels) > 1:
        raise SystemExit(f"OpenBLAS computes as {' and as '.join(sorted(kernels))}: set "
                         "OPENBLAS_CORETYPE to what all versions of it know")


def contestants(bench, network, model, steps):
    """(name, steps that do not count, function) of each; with warm-up soon over."""
    soon = ["--warm-up-epochs", WARM_UP_STEPS / MODELS[model][2]]
    skipped = WARM_UP_STEPS + FIRST_STEPS
    own = functools.partial(run_sotto, bench, network, model)
    found = [("sotto dgc", skipped, functools.partial(own, skipped + steps, "dgc", *soon)),
             ("sotto none", FIRST_STEPS, functools.partial(own, FIRST_STEPS + steps, "none"))]
    if bench.programs.has_torch:
        ddp = functools.partial(run_ddp, bench, network, model, FIRST_STEPS + steps)
        found += [("DDP", FIRST_STEPS, functools.partial(ddp, "none")),
                  ("DDP fp16", FIRST_STEPS, functools.partial(ddp, "fp16"))]
    return found


def measure_speed(bench, model, rate, steps):
    times = rows.Times()
    kernels = set()
    with Namespaces(RANKS, rate, bench.options.burst) as network:
        def run(name, skipped, function):
            return name, skipped, function()
        taking_turns = [functools.partial(run, *c)
                        for c in contestants(bench, network, model, steps)]
        for name, skipped, record in rows.in_turns(bench.options.rounds, taking_turns):
            times.add("step", name, step_seconds(record, skipped))
            kernels.add(record["blas"])
            require_same_blas(kernels)
    return {"model": model, "rate": rate, "steps": steps, "blas": kernels.pop(),
            "times": times.times}


def measure_whole(bench, model, rate, steps):
    """With the warm-up that the losses were reached with, of one epoch."""
    times = rows.Times()
    with Namespaces(RANKS, rate, bench.options.burst) as network:
        record = run_sotto(bench, network, model, steps, "dgc", "--warm-up-epochs", 1)
        times.add("whole run", "sotto dgc", record["seconds"])
    return {"model": model, "rate": rate, "steps": steps, "times": times.times}


def measure_loss(bench, model, seed, steps):
    """What rates change is time alone, so that this runs over loopback."""
    losses = {}
    with Namespaces(RANKS, "loopback") as network:
        for name in ("dgc", "none"):
            record = run_sotto(bench, network, model, steps, name, "--seed", seed, "--evaluate")
            losses[f"sotto {name}"] = record["validation_loss"]
        if bench.programs.has_torch:
            record = run_ddp(bench, network, model, steps, "none", "--evaluate", seed=seed)
            losses["DDP"] = record["validation_loss"]
    return {"model": model, "seed": seed, "steps": steps, "losses": losses, "times": {}}


def measure_crossover(bench, model, rate, steps):
    times = rows.Times()
    advice = []
    soon = ["--warm-up-epochs", WARM_UP_STEPS / MODELS[model][2]]
    skipped = WARM_UP_STEPS + FIRST_STEPS
    with Namespaces(RANKS, rate, bench.options.burst) as network:
        own = functools.partial(run_sotto, bench, network, model, skipped + steps)
        taking_turns = [functools.partial(own, "none", "--advise", *soon),
                        functools.partial(own, "dgc", *soon)]
        for record in rows.in_turns(bench.options.rounds, taking_turns):
            times.add("step", record["contestant"], step_seconds(record, skipped))
            if "advice" in record:
                advice.append(record["advice"])
    return {"model": model, "rate": rate, "steps": steps, "times": times.times,
            "advice": {name: statistics.median(a[name] for a in advice)
                       for name in advice[0] if name != "sentence"},
            "sentence": advice[-1]["sentence"]}


def end_to_end_rows(bench):
    quick = bench.options.quick
    steps = 4 if quick else 30
    slow_steps = 2 if quick else 8
    whole_steps = 20 if quick else bench.options.steps
    yield "mlp, 1gbit", functools.partial(measure_speed, bench, "mlp", "1gbit", steps)
    yield "mlp, 100mbit", functools.partial(measure_speed, bench, "mlp", "100mbit", slow_steps)
    for model in ("residual_cnn", "character_lstm"):
        yield f"{model}, 1gbit", functools.partial(measure_speed, bench, model, "1gbit",
                                                   slow_steps)
    for rate in ("1gbit", "100mbit"):
        yield f"mlp, {rate}, whole run", functools.partial(measure_whole, bench, "mlp", rate,
                                                           whole_steps)
    for seed in (1,) if quick else (1, 2, 3):
        yield f"mlp, loss, seed {seed}", functools.partial(measure_loss, bench, "mlp", seed,
                                                           whole_steps)
    for model in MODELS:
        for rate in CROSSOVER_RATES[:2] if quick else CROSSOVER_RATES:
            yield f"{model}, crossover, {rate}", functools.partial(
                measure_crossover, bench, model, rate, slow_steps)


def speed_lines(name, row):
    median = rows.medians(row, "step")
    line = functools.partial(rows.line, name, f"{row['model']}, {row['rate']}")
    best, seconds = rows.least(median, "DDP")
    own, own_seconds = rows.least(median, "sotto")
    if row["model"] == "mlp":
        asked = 3.0 if row["rate"] == "1gbit" else 20.0
        yield line("DDP / sotto dgc, a step", rows.ratio(median.get("DDP"), median["sotto dgc"]),
                   asked, unit="x")
        yield line("DDP fp16 / sotto dgc, a step",
                   rows.ratio(median.get("DDP fp16"), median["sotto dgc"]), asked, unit="x")
    else:
        yield line(f"{best} / {own}, a step", rows.ratio(seconds, own_seconds), 1.0, unit="x")


def whole_lines(name, row, found):
    """DDP has no warm-up: its steps all take as long."""
    speed = found.get(f"{row['model']}, {row['rate']}")
    own = row["times"]["whole run"]["sotto dgc"][0]
    line = functools.partial(rows.line, name, f"{row['steps']} steps, {row['rate']}")
    yield line("sotto dgc, with its warm-up", own, unit=" s")
    for peer in ("DDP", "DDP fp16"):
        if speed and peer in speed["times"]["step"]:
            whole = row["steps"] * rows.medians(speed, "step")[peer]
            yield line(f"{peer} (steps x its median) / sotto dgc", whole / own, unit="x")


def loss_lines(losses):
    """The mean over seeds of sotto's loss above DDP's."""
    for name in ("sotto dgc", "sotto none"):
        above = [100 * (row["losses"][name] / row["losses"]["DDP"] - 1)
                 for row in losses if "DDP" in row["losses"]]
        if above:
            asked = 1.0 if name == "sotto dgc" else None
            yield rows.line("mlp, loss", f"{losses[0]['steps']} steps, {len(above)} seeds",
                            f"validation loss, {name} above DDP (each: "
                            f"{', '.join(f'{a:+.2f}' for a in above)})",
                            statistics.mean(above), asked, True, " %")


def crossover(measured):
    """Bits a second where both take equally long, between two rates on a logarithmic scale; of
    [(rate, dense seconds, dgc seconds)]; None where that is outside of the rates."""
    for (low, dense, sparse), (high, later_dense, later_sparse) in zip(measured, measured[1:]):
        first, second = math.log(dense / sparse), math.log(later_dense / later_sparse)
        if first > 0 >= second:
            part = first / (first - second)
            return low * (high / low) ** part
    return None


def crossover_lines(model, found):
    found = sorted(found, key=lambda row: bits_per_second(row["rate"]))
    measured = []
    for row in found:
        median = rows.medians(row, "step")
        dense, sparse = median["sotto none"], median["sotto dgc"]
        measured.append((bits_per_second(row["rate"]), dense, sparse))
        line = functools.partial(rows.line, f"{model}, crossover", row["rate"])
        yield line("dense / dgc, a step", dense / sparse, unit="x")
        for name, seconds in (("dense", dense), ("dgc", sparse)):
            yield line(f"predicted / measured {name} step",
                       row["advice"][f"{name}_step_seconds"] / seconds)
    at = crossover(measured)
    line = functools.partial(rows.line, f"{model}, crossover", f"{RANKS} ranks")
    if at is None:
        yield line("dgc pays on all of these" if measured[-1][1] > measured[-1][2]
                   else "dgc pays on none of these", measured[-1][0] / 1e6, unit=" Mbit/s")
        return
    nearest = min(found, key=lambda row: abs(math.log(bits_per_second(row["rate"]) / at)))
    predicted = 8 * nearest["advice"]["pays_below_bytes_per_second"]
    yield line("dgc pays below", at / 1e6, unit=" Mbit/s")
    yield line(f"predicted at {nearest['rate']}", predicted / 1e6, unit=" Mbit/s")
    yield line("predicted off by", 100 * abs(predicted / at - 1), 25.0, True, " %")


def end_to_end_lines(found):
    losses, crossovers = [], {}
    for name, row in found.items():
        if "losses" in row:
            losses.append(row)
        elif "advice" in row:
            crossovers.setdefault(row["model"], []).append(row)
        elif "whole run" in row["times"]:
            yield from whole_lines(name, row, found)
        else:
            yield from speed_lines(name, row)
    if losses:
        yield from loss_lines(losses)
    for model, of_model in crossovers.items():
        yield from crossover_lines(model, of_model)
