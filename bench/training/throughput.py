"""The models of throughput.cpp in PyTorch: the same weights, batches and steps on one thread.

    throughput.py --model NAME --data FOLDER [--seconds S]

FOLDER is where throughput.cpp exported to. Prints one JSON object."""

import argparse
import json
import pathlib
import statistics
import sys
import time

import numpy
import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from common.blas import blas  # noqa: E402
from common.torch_models import (CharacterLstm, learned_values, lenet, mlp,  # noqa: E402
                                 residual_cnn, take_values)


# What makes it, a batch's inputs, labels of an example.
MODELS = {
    "mlp": (mlp, (64, 784), 1),
    "lenet": (lenet, (64, 1, 28, 28), 1),
    "residual_cnn": (residual_cnn, (64, 3, 32, 32), 1),
    "character_lstm": (lambda: CharacterLstm(65), (32, 64), 64),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True, choices=MODELS)
    parser.add_argument("--data", required=True)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    torch.set_num_threads(1)

    make, shape, labels_each = MODELS[options.model]
    model = make()
    learned = learned_values(model)
    exported = torch.from_numpy(
        numpy.fromfile(f"{options.data}/{options.model}.f32", numpy.float32))
    initial, rest = take_values(exported, [values.shape for values in learned])
    parameters = len(exported) - len(rest)
    batches = []
    while len(rest):
        (inputs, labels), rest = take_values(rest, [shape, (shape[0] * labels_each,)])
        batches.append((inputs.long() if isinstance(model, CharacterLstm) else inputs,
                        labels.long()))

    criterion = nn.CrossEntropyLoss()
    optimizer = None
    done = 0

    def restart():
        nonlocal optimizer, done
        with torch.no_grad():
            for values, start in zip(learned, initial):
                values.copy_(start)
        optimizer = torch.optim.SGD(learned, lr=0.01, momentum=0.9)
        done = 0

    def step():
        nonlocal done
        inputs, labels = batches[done % len(batches)]
        done += 1
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    restart()
    losses = [step() for _ in range(10)]
    steps, work = [], 0.0
    start = time.perf_counter()
    while time.perf_counter() - start < options.seconds or len(steps) < 5:
        if done == 200:
            restart()
        begin, before = time.perf_counter(), time.process_time()
        step()
        work += time.process_time() - before
        steps.append(time.perf_counter() - begin)
    print(json.dumps({
        "blas": blas(),
        "parameters": parameters,
        "losses": losses,
        "step_seconds": statistics.median(steps),
        "processor_seconds": work / len(steps),
        "version": torch.__version__}))


main()
