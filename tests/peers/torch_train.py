"""PyTorch trains the lessons' network: Fashion-MNIST, SGD with momentum, one thread a process.

    python3 torch_train.py WORLD HIDDEN BATCH STEPS MEETING NAME        as in: 2 512,256 128 400 /tmp/m torch

World 1 is plain PyTorch; above, DistributedDataParallel over gloo on loopback, with its own defaults; the
processes meet by the file MEETING. NAME torch-zero: Adam, sharded by ZeroRedundancyOptimizer.
BATCH is the global one. Prints the microseconds of a step, the mean over STEPS after some to warm up.
"""
import gzip
import os
import sys
import time

import torch
import torch.distributed
import torch.distributed.optim
import torch.multiprocessing
import torch.nn

FOLDER = "/usr/share/datasets/fashion-mnist/"
WARM_UP = 10


def load():
    images = bytearray(gzip.open(FOLDER + "train-images-idx3-ubyte.gz").read()[16:])
    labels = bytearray(gzip.open(FOLDER + "train-labels-idx1-ubyte.gz").read()[8:])
    features = torch.frombuffer(images, dtype=torch.uint8).view(-1, 784).float() / 255
    return features, torch.frombuffer(labels, dtype=torch.uint8).long()


def network(hidden):
    widths = [784] + hidden + [10]
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def optimizer_of(model, name):
    if name == "torch-zero":
        return torch.distributed.optim.ZeroRedundancyOptimizer(
            model.parameters(), torch.optim.Adam, lr=0.001
        )
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def train(rank, world, hidden, batch, steps, meeting, name):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    features, labels = load()
    model = network(hidden)
    if world > 1:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        torch.distributed.init_process_group(
            "gloo", init_method="file://" + meeting, rank=rank, world_size=world
        )
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = optimizer_of(model, name)
    loss_of = torch.nn.CrossEntropyLoss()
    order = torch.randperm(len(features), generator=torch.Generator().manual_seed(1))
    share = batch // world
    for step in range(WARM_UP + steps):
        if step == WARM_UP:
            if world > 1:
                torch.distributed.barrier()
            began = time.perf_counter()
        first = step * batch % (len(features) - batch) + rank * share
        mine = order[first : first + share]
        optimizer.zero_grad(set_to_none=True)
        loss_of(model(features[mine]), labels[mine]).backward()
        optimizer.step()
    if world > 1:
        torch.distributed.barrier()
    if rank == 0:
        print(f"{(time.perf_counter() - began) / steps * 1e6:.1f}", flush=True)


if __name__ == "__main__":
    world, batch, steps = int(sys.argv[1]), int(sys.argv[3]), int(sys.argv[4])
    hidden = [int(width) for width in sys.argv[2].split(",")]
    arguments = (world, hidden, batch, steps, sys.argv[5], sys.argv[6])
    if world == 1:
        train(0, *arguments)
    else:
        torch.multiprocessing.spawn(train, args=arguments, nprocs=world)
