#!/usr/bin/python3
"""What training.cpp trains, by PyTorch's DistributedDataParallel over Gloo: the same starting
values, examples, batches and optimizer, one thread a rank.

    ddp.py --model NAME --data FOLDER [--hook none|fp16] [--steps N] [--batch-size B]
           [--learning-rate R] [--evaluate]

FOLDER is where `training --export` wrote to; the rank comes from torchrun's variables. Rank 0
prints one JSON object."""

import argparse
import json
import pathlib
import sys
import time

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from common.blas import blas  # noqa: E402
from common.torch_models import (CharacterLstm, learned_values, residual_cnn,  # noqa: E402
                                 take_values)

MOMENTUM = 0.9


def mlp():
    return nn.Sequential(nn.Linear(784, 2560), nn.ReLU(), nn.Linear(2560, 2560), nn.ReLU(),
                         nn.Linear(2560, 10))


# What makes it of an exported data set's vocabulary, and the shape of an example.
MODELS = {"mlp": (lambda classes: mlp(), (784,)),
          "residual_cnn": (lambda classes: residual_cnn(), (3, 32, 32)),
          "character_lstm": (CharacterLstm, (64,))}


class Examples:
    """One exported part of a data set: not read before it is needed."""

    def __init__(self, folder, name, about, shape, is_text):
        self.size = about["examples"]
        self.inputs = numpy.memmap(folder / f"{name}_inputs.f32", numpy.float32, "r",
                                   shape=(self.size, *shape))
        self.labels = numpy.memmap(folder / f"{name}_labels.i32", numpy.int32, "r",
                                   shape=(self.size, about["labels_each"]))
        self.is_text = is_text

    def batch(self, places):
        inputs = torch.from_numpy(numpy.array(self.inputs[places]))
        labels = torch.from_numpy(self.labels[places].astype(numpy.int64)).flatten()
        return inputs.long() if self.is_text else inputs, labels


def mean_loss(model, examples):
    total = 0.0
    model.eval()
    with torch.no_grad():
        for first in range(0, examples.size, 256):
            places = numpy.arange(first, min(first + 256, examples.size))
            inputs, labels = examples.batch(places)
            total += nn.functional.cross_entropy(model(inputs), labels).item() * len(places)
    model.train()
    return total / examples.size


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="mlp")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--hook", choices=["none", "fp16"], default="none")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=0.05)
    parser.add_argument("--evaluate", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    about = json.loads((asked.data / "about.json").read_text())
    make, shape = MODELS[asked.model]
    is_text = asked.model == "character_lstm"
    train, unseen = (Examples(asked.data, name, about[name], shape, is_text)
                     for name in ("train", "validation"))
    model = make(1 + int(train.labels.max()))
    learned = learned_values(model)
    start = torch.from_numpy(numpy.fromfile(asked.data / "start.f32", numpy.float32))
    initial, rest = take_values(start, [values.shape for values in learned])
    if len(rest):
        raise SystemExit(f"{asked.data}: {len(rest)} starting values too many")
    with torch.no_grad():
        for values, begin in zip(learned, initial):
            values.copy_(begin)
    order = numpy.fromfile(asked.data / "order.i64", numpy.int64).reshape(-1, train.size)

    # The quickest that it offers: no copies into buckets, no statistics of batch norm on the wire.
    parallel = DistributedDataParallel(model, broadcast_buffers=False,
                                       gradient_as_bucket_view=True)
    if asked.hook == "fp16":
        parallel.register_comm_hook(None, default_hooks.fp16_compress_hook)
    optimizer = torch.optim.SGD(learned, lr=asked.learning_rate, momentum=MOMENTUM)
    share = -(-train.size // world)
    batches = -(-share // asked.batch_size)
    step_seconds, losses = [], []
    dist.barrier()
    began = before = time.perf_counter()
    for step in range(asked.steps):
        own = order[step // batches][rank::world]
        first = step % batches * asked.batch_size
        inputs, labels = train.batch(own[first:first + asked.batch_size])
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(parallel(inputs), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        now = time.perf_counter()
        step_seconds.append(now - before)
        before = now
    found = {"contestant": "DDP" + (f" {asked.hook}" if asked.hook != "none" else ""),
             "model": asked.model, "parameters": len(start), "blas": blas(),
             "version": torch.__version__, "steps": asked.steps, "seconds": before - began,
             "step_seconds": step_seconds, "losses": losses[:5]}
    if asked.evaluate and rank == 0:
        found["validation_loss"] = mean_loss(model, unseen)
    if rank == 0:
        print(json.dumps(found), flush=True)
    dist.barrier()


main()
