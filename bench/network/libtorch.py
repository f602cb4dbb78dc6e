"""A module of LibTorch over shaped links, by sotto and by PyTorch's DistributedDataParallel: the same
network, kernels, values and batches, so that what differs is what is sent and how."""

import functools
import pathlib

import end_to_end
import rows
from common.pages import quotient
from namespaces import Namespaces
from programs import run_on_all

MODEL = "residual_cnn"
ABOUT = (f"The ResNet-20 of CIFAR-10 as a module of LibTorch, {end_to_end.RANKS} ranks of one thread "
         "each, beside the same network by PyTorch's DistributedDataParallel over Gloo. Both compute by "
         "the same kernels. Programs took turns; a turn's figure is the median of rank 0's steps, "
         "without the first and without DGC's warm-up, and the median over turns is here. They begin "
         "with the same values, read the same batches and compute the same first losses, within "
         f"{end_to_end.LOSSES_APART:g}.")


def has_libtorch():
    return any(pathlib.Path("/usr/include").glob("torch/csrc/api/include/torch/torch.h"))


def run_module(bench, network, steps, start, compressor, *more):
    command = [bench.programs.path("libtorch_training"), *end_to_end.shared_arguments(MODEL, steps),
               "--start", start, "--compressor", compressor, *more]
    return run_on_all(network, command, end_to_end.environment())[0]


class Agreement(end_to_end.Agreement):
    """Of dense rows, whose first losses must be the same."""

    def add(self, record):
        dense = {"sotto libtorch none": "sotto none"}
        super().add(record | {"contestant": dense.get(record["contestant"], record["contestant"])})
        return record


def measure(bench, rate, steps):
    """None where LibTorch or PyTorch is missing."""
    if not has_libtorch() or not bench.programs.has_torch:
        print("  without LibTorch: cmake/install_debian.sh torch")
        return None
    skipped = end_to_end.WARM_UP_STEPS + end_to_end.FIRST_STEPS
    soon = ["--warm-up-epochs", end_to_end.WARM_UP_STEPS / end_to_end.MODELS[MODEL][2]]
    first = end_to_end.FIRST_STEPS
    start = end_to_end.exported(bench, MODEL, 1, first + steps) / "start.f32"
    times, agreement = rows.Times(), Agreement()
    with Namespaces(end_to_end.RANKS, rate, bench.options.burst) as network:
        def contestant(name, not_counted, function, *words):
            return lambda: (name, not_counted, function(*words))
        module = functools.partial(run_module, bench, network)
        ddp = functools.partial(end_to_end.run_ddp, bench, network, MODEL, first + steps)
        turns = [contestant("sotto dgc", skipped, module, skipped + steps, start, "dgc", *soon),
                 contestant("sotto none", first, module, first + steps, start, "none"),
                 contestant("DDP", first, ddp, "none"),
                 contestant("DDP fp16", first, ddp, "fp16")]
        for name, not_counted, record in rows.in_turns(bench.options.rounds, turns):
            times.add("step", name, end_to_end.step_seconds(agreement.add(record), not_counted))
    return {"times": times.times} | agreement.found()


def libtorch_rows(bench):
    steps = 3 if bench.options.quick else 8
    yield rows.Row(f"{MODEL}, 1gbit", {"model": MODEL, "rate": "1gbit", "steps": steps},
                   functools.partial(measure, bench, "1gbit", steps))


def libtorch_lines(found):
    for name, row in found.items():
        median = rows.medians(row, "step")
        line = functools.partial(rows.line, name, f"{row['model']}, {row['rate']}")
        yield line("DDP / sotto none, a step",
                   quotient(median.get("DDP"), median.get("sotto none")), unit="x")
        for peer in ("DDP", "DDP fp16"):
            yield line(f"{peer} / sotto dgc, a step",
                       quotient(median.get(peer), median.get("sotto dgc")), 1.0, unit="x")
