"""The same networks, losses and updates in PyTorch, in three forms: eager, channels_last, and
channels_last compiled.

As in the tutorial, both nets are updated from one forward pass. Everything that speeds PyTorch up
without changing the numbers is used: fused Adam, gradients of those weights only that are updated,
images gathered from memory without a DataLoader.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from ganboard.gan.bench.protocol import Take, Task, Unavailable

NOISE = 100
COMPILERS = (os.environ.get("CXX", ""), "g++", "clang++", "c++")
# batch norm as Keras has it
NORM = {"eps": 1e-3, "momentum": 0.01}


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def layout(task: Task, axes: int = 2) -> torch.memory_format:
    """How maps of so many axes lie in memory in the task's form."""
    if task.form == "eager":
        return torch.contiguous_format
    return torch.channels_last if axes == 2 else torch.channels_last_3d


def initialize(*networks: nn.Module) -> None:
    """Kernels as Keras has them where nothing else is said: Glorot uniform, and no biases."""
    for layer in (layer for network in networks for layer in network.modules()):
        if getattr(layer, "weight", None) is not None and layer.weight.dim() > 1:
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def autocast(task: Task) -> Any:
    """The task's precision, for forward passes."""
    half = task.precision == "mixed_bfloat16"
    return torch.autocast(device().type, torch.bfloat16, enabled=half)


def compiled(task: Task, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function in the task's form. Raises Unavailable."""
    if task.form != "compiled":
        return function
    if not any(name and shutil.which(name) for name in COMPILERS):
        raise Unavailable("no C++ compiler for torch.compile: install g++")
    # the backward passes become part of the one graph
    torch._dynamo.config.trace_autograd_ops = True
    made: Callable[..., Any] = torch.compile(function, fullgraph=True)
    return made


def update(optimizer: Any, weights: Sequence[Any], gradients: Sequence[Any]) -> None:
    for weight, gradient in zip(weights, gradients, strict=True):
        weight.grad = gradient
    optimizer.step()


def networks() -> tuple[Any, Any]:
    """Generator and discriminator as Keras makes them: slope 0.3, batch norm epsilon 1e-3 and
    momentum 0.99, Glorot."""
    generator = nn.Sequential(
        nn.Linear(NOISE, 7 * 7 * 256, bias=False),
        nn.BatchNorm1d(7 * 7 * 256, **NORM),
        nn.LeakyReLU(0.3),
        nn.Unflatten(1, (256, 7, 7)),
        nn.ConvTranspose2d(256, 128, 5, stride=1, padding=2, bias=False),
        nn.BatchNorm2d(128, **NORM),
        nn.LeakyReLU(0.3),
        nn.ConvTranspose2d(128, 64, 5, stride=2, padding=2, output_padding=1, bias=False),
        nn.BatchNorm2d(64, **NORM),
        nn.LeakyReLU(0.3),
        nn.ConvTranspose2d(64, 1, 5, stride=2, padding=2, output_padding=1, bias=False),
        nn.Tanh(),
    )
    discriminator = nn.Sequential(
        nn.Conv2d(1, 64, 5, stride=2, padding=2),
        nn.LeakyReLU(0.3),
        nn.Dropout(0.3),
        nn.Conv2d(64, 128, 5, stride=2, padding=2),
        nn.LeakyReLU(0.3),
        nn.Dropout(0.3),
        nn.Flatten(),
        nn.Linear(7 * 7 * 128, 1),
    )
    initialize(generator, discriminator)
    return generator, discriminator


def make(task: Task) -> tuple[Take, str]:
    place, lies = device(), layout(task)
    g, d = (net.to(place, memory_format=lies) for net in networks())
    g_weights, d_weights = list(g.parameters()), list(d.parameters())
    adams = [
        torch.optim.Adam(weights, 1e-4, eps=1e-7, fused=True) for weights in (g_weights, d_weights)
    ]
    images = torch.from_numpy(np.load(task.images, allow_pickle=False)).permute(0, 3, 1, 2)
    images = images.to(place)

    def gradients(real: Any, noise: Any) -> tuple[Any, Any, list[Any]]:
        with autocast(task):
            fake = g(noise)
            real_logits, fake_logits = d(real), d(fake)
        ones, zeros = (
            torch.ones_like(fake_logits, dtype=torch.float32),
            torch.zeros_like(fake_logits, dtype=torch.float32),
        )
        g_loss = cross_entropy(fake_logits.float(), ones)
        d_loss = cross_entropy(real_logits.float(), ones) + cross_entropy(
            fake_logits.float(), zeros
        )
        found = [
            *torch.autograd.grad(g_loss, g_weights, retain_graph=True),
            *torch.autograd.grad(d_loss, d_weights),
        ]
        return g_loss.detach(), d_loss.detach(), found

    gradients = compiled(task, gradients)
    order, at = torch.randperm(len(images)), 0

    def step() -> tuple[Any, Any]:
        nonlocal order, at
        if at + task.batch > len(images):
            order, at = torch.randperm(len(images)), 0
        rows = order[at : at + task.batch].to(place)
        at += task.batch
        real = (images[rows].float() / 127.5 - 1).contiguous(memory_format=lies)
        g_loss, d_loss, found = gradients(real, torch.randn(task.batch, NOISE, device=place))
        update(adams[0], g_weights, found[: len(g_weights)])
        update(adams[1], d_weights, found[len(g_weights) :])
        return g_loss, d_loss

    def take(count: int) -> tuple[float, float]:
        for _ in range(count):
            g_loss, d_loss = step()
        return float(g_loss), float(d_loss)

    return take, f"torch {torch.__version__}"
