#!/usr/bin/env python3
"""The character LSTM of dgc_models in PyTorch: the same starting values, text, batches in the same
order, optimizer, schedule and number of steps. One thread.

    character_lstm.py --data FOLDER --start FILE --order FILE --out FILE --learning-rate R
                      --epochs E --batch-size B [--clip C]

The files of --start and --order come from `dgc_models --start FILE --order FILE`; --batch-size is
that of all workers together. Writes one JSON object.
"""
import argparse
import json
import math
import pathlib
import sys
import time

import numpy
import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from common.torch_models import CharacterLstm, learned_values, take_values  # noqa: E402

LENGTH, MOMENTUM = 64, 0.9


def windows(part):
    count = (len(part) - 1) // LENGTH
    read = part[: count * LENGTH].view(count, LENGTH)
    after = part[1 : count * LENGTH + 1].view(count, LENGTH)
    return read, after


def mean_loss(model, examples):
    total = 0.0
    with torch.no_grad():
        for first in range(0, len(examples[0]), 64):
            read, after = (part[first : first + 64] for part in examples)
            total += nn.functional.cross_entropy(model(read), after.flatten()).item() * len(read)
    return total / len(examples[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--start", required=True)
    parser.add_argument("--order", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--clip", type=float, default=0.0)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    asked = parser.parse_args()
    torch.set_num_threads(1)

    with open(f"{asked.data}/tinyshakespeare/input.txt", "rb") as file:
        text = file.read()
    number = {byte: i for i, byte in enumerate(sorted(set(text)))}
    numbers = torch.tensor([number[byte] for byte in text])
    border = math.floor(0.9 * len(numbers))
    train, validation = windows(numbers[:border]), windows(numbers[border:])

    model = CharacterLstm(len(number))
    learned = learned_values(model)
    start = torch.from_numpy(numpy.fromfile(asked.start, numpy.float32))
    initial, rest = take_values(start, [values.shape for values in learned])
    if len(rest):
        raise SystemExit(f"{asked.start}: {len(rest)} values too many")
    with torch.no_grad():
        for values, begin in zip(learned, initial):
            values.copy_(begin)

    orders = torch.from_numpy(numpy.fromfile(asked.order, numpy.int64))
    orders = orders.view(asked.epochs, len(train[0]))
    rounds = -(-len(train[0]) // asked.batch_size)
    optimizer = torch.optim.SGD(learned, lr=asked.learning_rate, momentum=MOMENTUM)
    began, losses = time.monotonic(), []
    for epoch in range(asked.epochs):
        for step in range(rounds):
            progress = (epoch + step / rounds) / asked.epochs
            rate = asked.learning_rate * 0.5 * (1 + math.cos(math.pi * progress))
            for group in optimizer.param_groups:
                group["lr"] = rate
            batch = orders[epoch][step * asked.batch_size : (step + 1) * asked.batch_size]
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(model(train[0][batch]), train[1][batch].flatten()).backward()
            if asked.clip > 0:
                nn.utils.clip_grad_norm_(learned, asked.clip)
            optimizer.step()
        losses.append(mean_loss(model, validation))
        print(f"epoch {epoch + 1}/{asked.epochs}  validation loss {losses[-1]:.4f}  "
              f"{time.monotonic() - began:.1f} s", flush=True)

    with open(asked.out, "w", encoding="utf-8") as file:
        json.dump({"parameters": len(start), "steps": asked.epochs * rounds,
                   "test_loss": losses[-1], "test_losses": losses,
                   "seconds": time.monotonic() - began}, file)


main()
