"""The models of throughput.cpp in PyTorch: the same weights, batches and steps on one thread.

    throughput.py --model NAME --data FOLDER [--seconds S]

FOLDER is where throughput.cpp exported to. Prints one JSON object."""

import argparse
import ctypes
import json
import statistics
import time

import numpy
import torch
from torch import nn


class CharacterLstm(nn.Module):
    def __init__(self, vocabulary, width=256, hidden=256, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, hidden, layers, batch_first=True)
        self.dense = nn.Linear(hidden, vocabulary)
        for name, values in self.lstm.named_parameters():
            if name.startswith("bias_hh"):  # the second of two biases that are only ever added up
                nn.init.zeros_(values)
                values.requires_grad_(False)

    def forward(self, x):
        return self.dense(self.lstm(self.embedding(x))[0]).flatten(0, 1)


def mlp():
    return nn.Sequential(
        nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 8, 5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Conv2d(8, 32, 5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Flatten(), nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 10))


class Block(nn.Module):
    def __init__(self, inputs, channels):
        super().__init__()
        self.added = channels - inputs
        self.stride = 2 if self.added else 1
        self.conv1 = nn.Conv2d(inputs, channels, 3, self.stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = nn.functional.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        if self.added:
            x = nn.functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, self.added))
        return nn.functional.relu(y + x)


def residual_cnn():
    blocks = [Block(inputs, channels) for inputs, channels in
              [(16, 16)] * 3 + [(16, 32)] + [(32, 32)] * 2 + [(32, 64)] + [(64, 64)] * 2]
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), *blocks,
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


# What makes it, a batch's inputs, labels of an example.
MODELS = {
    "mlp": (mlp, (64, 784), 1),
    "lenet": (lenet, (64, 1, 28, 28), 1),
    "residual_cnn": (residual_cnn, (64, 3, 32, 32), 1),
    "character_lstm": (lambda: CharacterLstm(65), (32, 64), 64),
}


def blas():
    """The kernels that the OpenBLAS of this process has chosen."""
    with open("/proc/self/maps") as maps:
        for path in sorted({line.split()[-1] for line in maps if "blas" in line}):
            name = getattr(ctypes.CDLL(path), "openblas_get_corename", None)
            if name is not None:
                name.restype = ctypes.c_char_p
                return name().decode()
    return "unknown"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True, choices=MODELS)
    parser.add_argument("--data", required=True)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    torch.set_num_threads(1)

    make, shape, labels_each = MODELS[options.model]
    model = make()
    learned = [values for values in model.parameters() if values.requires_grad]
    exported = torch.from_numpy(
        numpy.fromfile(f"{options.data}/{options.model}.f32", numpy.float32))
    first = 0

    def take(*extents):
        nonlocal first
        count = int(numpy.prod(extents))
        part = exported[first:first + count].reshape(extents).clone()
        if part.numel() != count:
            raise SystemExit("the exported file is too short")
        first += count
        return part

    initial = [take(*values.shape) for values in learned]
    parameters = first
    batches = []
    while first < len(exported):
        inputs, labels = take(*shape), take(shape[0] * labels_each).long()
        batches.append((inputs.long() if isinstance(model, CharacterLstm) else inputs, labels))

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
