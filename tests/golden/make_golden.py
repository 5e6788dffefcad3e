#!/usr/bin/python3
"""Ten updates of a small network by PyTorch, written down for tests/test_golden.c.

    OMP_NUM_THREADS=1 /usr/bin/python3 tests/golden/make_golden.py      (Debian: python3-torch)

An update is computed in double. Its parameters are then rounded to float, once, and the next
update starts from the rounded ones; momentum and Adam's moments stay in double. So each update in
a file starts from numbers a float program can start from exactly, and ends half a unit of the last
place from the true result.

One file per run: `param` (11, count), the parameters before update 0 and after each, in the order
of the slab; `grad` (count), update 0's gradient before clipping. The network is 64-5-10 on the first
57 training rows of the digits, unshuffled, in batches of 10: the last batch of an epoch has 7.
"""
import json
import math
import os
import random
import struct

import torch
from torch.nn.functional import cross_entropy

HERE = os.path.dirname(os.path.abspath(__file__))
DIGITS = os.path.join(HERE, "..", "..", "common", "data", "digits.csv")
ROWS, PIXELS, INK, HIDDEN, CLASSES, BATCH, UPDATES = 57, 64, 16, 5, 10, 10, 10

RUNS = {
    "plain": dict(kind="sgd", lr=0.1),
    "momentum": dict(kind="sgd", lr=0.1, momentum=0.9, decay=0.01),
    "adam": dict(kind="adam", lr=0.01),
    "adamw": dict(kind="adamw", lr=0.01, decay=0.01),
    "clip": dict(kind="sgd", lr=0.1, momentum=0.9, decay=0.01, clip=0.5),
    "accumulate2": dict(kind="sgd", lr=0.1, momentum=0.9, decay=0.01, accumulate=2),
    "accumulate3": dict(kind="sgd", lr=0.1, momentum=0.9, decay=0.01, accumulate=3),
}


def digits():
    """Every fifth row is a test row."""
    rows = [line.split(",") for line in open(DIGITS)]
    rows = [list(map(int, row)) for i, row in enumerate(rows) if i % 5 != 4][:ROWS]
    x = torch.tensor([row[:PIXELS] for row in rows], dtype=torch.float64) / INK
    return x, torch.tensor([row[PIXELS] for row in rows])


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(PIXELS, HIDDEN, dtype=torch.float64)
        self.fc2 = torch.nn.Linear(HIDDEN, CLASSES, dtype=torch.float64)
        numbers = random.Random(1)
        for name, parameter in self.named_parameters():
            limit = math.sqrt(6 / parameter.shape[1]) if name.endswith("weight") else 0.1
            for i in range(parameter.numel()):
                parameter.data.view(-1)[i] = numbers.uniform(-limit, limit)
        self.round()

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))

    def round(self):
        for parameter in self.parameters():
            parameter.data = parameter.data.float().double()


def optimizer_of(network, kind, lr, momentum=0, decay=0):
    weights = [p for name, p in network.named_parameters() if name.endswith("weight")]
    biases = [p for name, p in network.named_parameters() if name.endswith("bias")]
    groups = [dict(params=weights, weight_decay=decay), dict(params=biases, weight_decay=0)]
    if kind == "sgd":
        return torch.optim.SGD(groups, lr=lr, momentum=momentum)
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind](groups, lr=lr)


def slab(tensors):
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors]).float().tolist()


def train(kind, lr, momentum=0, decay=0, clip=0, accumulate=1):
    x, labels = digits()
    network = Network()
    optimizer = optimizer_of(network, kind, lr, momentum, decay)
    params, grad, norms, begin = [slab(network.parameters())], None, [], 0
    for update in range(UPDATES):
        end = min(begin + BATCH * accumulate, ROWS)
        optimizer.zero_grad()
        for first in range(begin, end, BATCH):
            rows = slice(first, min(first + BATCH, end))
            loss = cross_entropy(network(x[rows]), labels[rows], reduction="sum") / (end - begin)
            loss.backward()
        grad = grad or slab(p.grad for p in network.parameters())
        if clip:
            norms.append(torch.nn.utils.clip_grad_norm_(network.parameters(), clip))
        optimizer.step()
        network.round()
        params.append(slab(network.parameters()))
        begin = end % ROWS
    assert not clip or min(norms) < clip < max(norms), "clip some updates, and not all"
    return params, grad


def write(path, params, grad):
    """safetensors: 8 bytes of length, a JSON header, the numbers."""
    count = len(grad)
    size = 4 * count * len(params)
    header = {
        "__metadata__": {"torch": torch.__version__},
        "param": {"dtype": "F32", "shape": [len(params), count], "data_offsets": [0, size]},
        "grad": {"dtype": "F32", "shape": [count], "data_offsets": [size, size + 4 * count]},
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    numbers = [number for row in params for number in row] + grad
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.write(struct.pack("<%df" % len(numbers), *numbers))


for run, settings in RUNS.items():
    write(os.path.join(HERE, run + ".safetensors"), *train(**settings))
