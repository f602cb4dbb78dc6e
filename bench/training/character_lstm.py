#!/usr/bin/env python3
"""The character LSTM of dgc_models in PyTorch: the same model, batches of the same size, the same
optimizer, schedule and number of steps. Writes one JSON object.

    character_lstm.py --data FOLDER --out FILE --learning-rate R --clip C --epochs E --batch-size B --seed S

--batch-size is that of all workers together. Needs Debian's python3-torch; runs on one thread.
"""
import argparse
import json
import math
import time

import torch

options = argparse.ArgumentParser()
options.add_argument("--data", required=True)
options.add_argument("--out", required=True)
options.add_argument("--learning-rate", type=float, required=True)
options.add_argument("--clip", type=float, default=0.0)
options.add_argument("--epochs", type=int, default=10)
options.add_argument("--batch-size", type=int, default=64)
options.add_argument("--seed", type=int, default=1)
asked = options.parse_args()

LENGTH, WIDTH, HIDDEN, LAYERS, MOMENTUM = 64, 256, 256, 2, 0.9

torch.set_num_threads(1)
torch.manual_seed(asked.seed)

with open(f"{asked.data}/tinyshakespeare/input.txt", "rb") as file:
    text = file.read()
known = sorted(set(text))
number = {byte: i for i, byte in enumerate(known)}
ids = torch.tensor([number[byte] for byte in text])
border = math.floor(0.9 * len(ids))


def windows(part):
    count = (len(part) - LENGTH - 1) // LENGTH + 1
    read = part[: count * LENGTH].view(count, LENGTH)
    after = part[1 : count * LENGTH + 1].view(count, LENGTH)
    return read, after


train, validation = windows(ids[:border]), windows(ids[border:])


class CharacterLstm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(len(known), WIDTH)
        self.lstm = torch.nn.LSTM(WIDTH, HIDDEN, LAYERS, batch_first=True)
        self.output = torch.nn.Linear(HIDDEN, len(known))

    def forward(self, characters):
        return self.output(self.lstm(self.embedding(characters))[0])


model = CharacterLstm()
loss_of = torch.nn.CrossEntropyLoss()


def validation_loss():
    total = 0.0
    model.eval()
    with torch.no_grad():
        for first in range(0, len(validation[0]), 64):
            read, after = (part[first : first + 64] for part in validation)
            total += loss_of(model(read).flatten(0, 1), after.flatten()).item() * len(read)
    model.train()
    return total / len(validation[0])


rounds = -(-len(train[0]) // asked.batch_size)
optimizer = torch.optim.SGD(model.parameters(), lr=asked.learning_rate, momentum=MOMENTUM)
start, losses = time.monotonic(), []
for epoch in range(asked.epochs):
    order = torch.randperm(len(train[0]))
    for step in range(rounds):
        progress = (epoch + step / rounds) / asked.epochs
        for group in optimizer.param_groups:
            group["lr"] = asked.learning_rate * 0.5 * (1 + math.cos(math.pi * progress))
        batch = order[step * asked.batch_size : (step + 1) * asked.batch_size]
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model(train[0][batch]).flatten(0, 1), train[1][batch].flatten())
        loss.backward()
        if asked.clip > 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), asked.clip)
        optimizer.step()
    losses.append(validation_loss())
    print(f"epoch {epoch + 1}/{asked.epochs}  test loss {losses[-1]:.4f}  {time.monotonic() - start:.1f} s", flush=True)

with open(asked.out, "w", encoding="utf-8") as file:
    json.dump(
        {
            "task": "shakespeare",
            "row": "pytorch",
            "seed": asked.seed,
            "parameters": sum(p.numel() for p in model.parameters()),
            "learning_rate": asked.learning_rate,
            "clip": asked.clip,
            "epochs": asked.epochs,
            "steps": asked.epochs * rounds,
            "batch_size": asked.batch_size,
            "test_loss": losses[-1],
            "test_losses": losses,
            "seconds": time.monotonic() - start,
        },
        file,
    )
