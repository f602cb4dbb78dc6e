"""Training over shaped links beside PyTorch's DistributedDataParallel: steps a second, time with
DGC's warm-up, validation loss, and from which bandwidth on compressing no longer pays."""

import functools
import os
import pathlib
import statistics

import rows
from common.pages import quotient
from crossover import crossover_lines
from namespaces import Namespaces
from programs import HERE, PYTHON, run_on_all, run_quietly

RANKS = 4
# Batch of a rank, learning rate, steps a rank has in an epoch.
MODELS = {"mlp": (64, 0.05, 235), "residual_cnn": (64, 0.05, 40),
          "character_lstm": (32, 0.5, 123)}
DENSITY = 0.001
RATES = ("100mbit", "300mbit", "1gbit", "3gbit", "10gbit")
# Models and densities of DGC, and rates to look for a crossover at. At the published density it
# pays on all that shaped links of a machine can be; where more is sent it does not.
CROSSOVERS = [(model, DENSITY, RATES) for model in MODELS] + [
    ("mlp", 0.1, RATES[2:]), ("mlp", 0.25, RATES[1:])]
SEEDS = (1, 2, 3)
# Of the runs whose losses are compared: ten epochs of the mlp. In few steps entries that are sent
# once in a thousand have hardly been sent.
LOSS_STEPS = 2350
# Of what DDP and sotto compute in their first steps, relative.
LOSSES_APART = 1e-3
# Steps that count in no median: of DGC's warm-up, of which each of four stages has at least one;
# and the first of all, which take memory.
WARM_UP_STEPS, FIRST_STEPS = 8, 2
# So many losses a program tells.
FIRST_LOSSES = 5

ABOUT = (f"{RANKS} ranks of one thread each. Steps a second: programs took turns; a turn's figure "
         "is the median of rank 0's steps, without the first and without DGC's warm-up, and the "
         "median over turns is here. Whole runs and losses are of one run each; DDP's whole run "
         "is as many times its median step, as all of them take as long. Losses are those of a "
         "constant rate, after a warm-up of one epoch, of DGC that masks nothing; where time is "
         "measured it masks from a sparsity of 0.99 on. DDP and sotto begin "
         "with the same values, read the same batches and compute the same first losses, within "
         f"{LOSSES_APART:g}. Where dgc pays is found between two rates, over the bytes a second "
         "that the trainer measures there; predictions are its advice's, of both rates.")


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
    program, last = bench.programs.path("training"), folder / "about.json"
    if not last.exists() or last.stat().st_mtime < program.stat().st_mtime:
        folder.mkdir(parents=True, exist_ok=True)
        run_quietly(program, *shared_arguments(model, steps), "--seed", seed, "--export", folder)
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


class Agreement:
    """What all programs of a row must agree in: the kernels that OpenBLAS chose, and the losses of
    the first steps where they train the same."""

    def __init__(self):
        self.blas, self.losses = set(), {}

    def add(self, record):
        self.blas.add(record["blas"])
        if len(self.blas) > 1:
            raise SystemExit(f"OpenBLAS computes as {' and as '.join(sorted(self.blas))}: set "
                             "OPENBLAS_CORETYPE to what all versions of it know")
        if record["contestant"] in ("sotto none", "DDP"):
            self.losses[record["contestant"]] = record["losses"]
        require_same_losses(self.losses)
        return record

    def found(self):
        return {"blas": min(self.blas), "first_losses": self.losses}


def require_same_losses(losses):
    for of_step in zip(*losses.values(), strict=True):
        if max(of_step) - min(of_step) > LOSSES_APART * min(of_step):
            raise SystemExit(f"the first losses differ by more than {LOSSES_APART:g}: {losses}")


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
    times, agreement = rows.Times(), Agreement()
    with Namespaces(RANKS, rate, bench.options.burst) as network:
        def run(name, skipped, function):
            return name, skipped, function()
        taking_turns = [functools.partial(run, *c)
                        for c in contestants(bench, network, model, steps)]
        for name, skipped, record in rows.in_turns(bench.options.rounds, taking_turns):
            times.add("step", name, step_seconds(agreement.add(record), skipped))
    return {"times": times.times} | agreement.found()


def measure_whole(bench, model, rate, steps):
    """With a warm-up of one epoch, as where losses are compared."""
    times, agreement = rows.Times(), Agreement()
    with Namespaces(RANKS, rate, bench.options.burst) as network:
        record = agreement.add(run_sotto(bench, network, model, steps, "dgc", "--warm-up-epochs",
                                         1))
        times.add("whole run", "sotto dgc", record["seconds"])
    return {"times": times.times} | agreement.found()


def measure_loss(bench, model, seed, steps):
    """What rates change is time alone, so that this runs over loopback."""
    losses, agreement = {}, Agreement()
    with Namespaces(RANKS, "loopback") as network:
        record = run_sotto(bench, network, model, steps, "dgc", "--seed", seed, "--evaluate",
                           "--mask-from", 1)
        losses["sotto dgc"] = agreement.add(record)["validation_loss"]
        agreement.add(run_sotto(bench, network, model, FIRST_LOSSES, "none", "--seed", seed))
        if bench.programs.has_torch:
            record = run_ddp(bench, network, model, steps, "none", "--evaluate", seed=seed)
            losses["DDP"] = agreement.add(record)["validation_loss"]
    return {"losses": losses} | agreement.found()


def measure_crossover(bench, model, rate, steps, density):
    times, agreement = rows.Times(), Agreement()
    advices = []
    soon = ["--warm-up-epochs", WARM_UP_STEPS / MODELS[model][2]]
    skipped = WARM_UP_STEPS + FIRST_STEPS
    with Namespaces(RANKS, rate, bench.options.burst) as network:
        own = functools.partial(run_sotto, bench, network, model, skipped + steps)
        dgc = ["--density", density, *soon]
        taking_turns = [functools.partial(own, "none", "--advise", "--first-steps", skipped, *dgc),
                        functools.partial(own, "dgc", *dgc)]
        for record in rows.in_turns(bench.options.rounds, taking_turns):
            times.add("step", record["contestant"], step_seconds(agreement.add(record), skipped))
            if "advice" in record:
                advices.append(record["advice"])
    return {"times": times.times, "advices": advices} | agreement.found()


def end_to_end_rows(bench):
    quick = bench.options.quick
    steps = 4 if quick else 30
    slow_steps = 3 if quick else 8
    whole_steps = 20 if quick else bench.options.steps

    def row(name, kind, measure, model, what, of_steps):
        key = "seed" if kind == "loss" else "rate"
        return rows.Row(f"{model}, {name}",
                        {"kind": kind, "model": model, key: what, "steps": of_steps},
                        functools.partial(measure, bench, model, what, of_steps))
    yield row("1gbit", "speed", measure_speed, "mlp", "1gbit", steps)
    yield row("100mbit", "speed", measure_speed, "mlp", "100mbit", slow_steps)
    for model in ("residual_cnn", "character_lstm"):
        yield row("1gbit", "speed", measure_speed, model, "1gbit", slow_steps)
    for rate in ("1gbit", "100mbit"):
        yield row(f"{rate}, whole run", "whole", measure_whole, "mlp", rate, whole_steps)
    loss_steps = whole_steps if quick else LOSS_STEPS
    for seed in SEEDS[:1] if quick else SEEDS:
        yield row(f"loss after {loss_steps} steps, seed {seed}", "loss", measure_loss, "mlp", seed,
                  loss_steps)
    for model, density, rates in CROSSOVERS:
        for rate in rates[:2] if quick else rates:
            found = row(f"density {density:g}, crossover, {rate}", "crossover",
                        functools.partial(measure_crossover, density=density), model, rate,
                        slow_steps)
            found.about["density"] = density
            yield found


def speed_lines(name, row):
    median = rows.medians(row, "step")
    line = functools.partial(rows.line, name, f"{row['model']}, {row['rate']}")
    if row["model"] == "mlp":
        asked = 3.0 if row["rate"] == "1gbit" else 20.0
        for peer in ("DDP", "DDP fp16"):
            yield line(f"{peer} / sotto dgc, a step",
                       quotient(median.get(peer), median.get("sotto dgc")), asked, unit="x")
    else:
        best, seconds = rows.least(median, "DDP")
        own, own_seconds = rows.least(median, "sotto")
        yield line(f"{best or 'DDP'} / {own or 'sotto'}, a step",
                   quotient(seconds, own_seconds), 1.0, unit="x")


def whole_lines(name, row, found):
    """DDP has no warm-up: its steps all take as long."""
    if not rows.is_measured(row):
        return
    speed = found.get(f"{row['model']}, {row['rate']}", {})
    own = row["times"]["whole run"]["sotto dgc"][0]
    line = functools.partial(rows.line, name, f"{row['steps']} steps, {row['rate']}")
    yield line("sotto dgc, with its warm-up", own, unit=" s")
    if not rows.comparable(row, speed) or row["blas"] != speed["blas"]:
        return
    for peer in ("DDP", "DDP fp16"):
        step = rows.medians(speed, "step").get(peer)
        yield line(f"{peer} (steps x its median) / sotto dgc",
                   quotient(rows.scaled(row["steps"], step), own), unit="x")


def loss_lines(losses):
    """Sotto's loss above DDP's: the mean over all seeds, and the worst of them."""
    of_rows = [row.get("losses", {}) for row in losses]
    above = [100 * (of_row["sotto dgc"] / of_row["DDP"] - 1) for of_row in of_rows
             if "DDP" in of_row]
    has_all = len(above) == len(losses)
    line = functools.partial(rows.line, "mlp, loss",
                             f"{losses[0]['steps']} steps, seeds "
                             f"{', '.join(str(row['seed']) for row in losses)}",
                             at_most=True, unit=" %")
    each = f" (each: {', '.join(f'{a:+.2f}' for a in above)})" if has_all else ""
    for what, summed, asked in ((f"mean{each}", statistics.mean, 1.0), ("worst", max, 2.0)):
        yield line(what=f"validation loss, sotto dgc above DDP, {what}",
                   value=summed(above) if has_all else None, asked=asked)


def end_to_end_lines(found):
    losses, crossovers = [], {}
    for name, row in found.items():
        if row["kind"] == "loss":
            losses.append(row)
        elif row["kind"] == "crossover":
            crossovers.setdefault((row["model"], row["density"]), []).append(row)
        elif row["kind"] == "whole":
            yield from whole_lines(name, row, found)
        else:
            yield from speed_lines(name, row)
    if losses:
        yield from loss_lines(losses)
    for (model, density), rows_of in crossovers.items():
        yield from crossover_lines(f"{model}, density {density:g}", rows_of)
