"""Models of sotto in PyTorch, for the comparisons: parameters in the same order."""

import math

from torch import nn


def learned_values(model):
    return [values for values in model.parameters() if values.requires_grad]


def take_values(values, shapes):
    """A tensor of each shape, from the values in a row; and the values that are left."""
    taken = []
    for shape in shapes:
        count = math.prod(shape)
        if len(values) < count:
            raise SystemExit("the exported file is too short")
        taken.append(values[:count].reshape(tuple(shape)).clone())
        values = values[count:]
    return taken, values


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
