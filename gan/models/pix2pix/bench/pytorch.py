"""The published U-Net and PatchGAN, their losses and updates in PyTorch, on windows of noise that
lie in memory. As in the tutorial both nets are updated from one forward pass."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from ganboard.gan.bench import pytorch
from ganboard.gan.bench.protocol import Take, Task, Unavailable

PAIRS = 256
L1_WEIGHT = 100
INPUTS, OUTPUTS = 4, 3
_HALVES = {"kernel_size": 4, "stride": 2, "padding": 1, "bias": False}


class UNet(nn.Module):  # type: ignore[misc]
    """`gan.models.pix2pix.architecture`'s published generator."""

    def __init__(self, side: int, width: int) -> None:
        super().__init__()
        filters = [min(width << stage, 8 * width) for stage in range(side.bit_length() - 1)]
        stages = len(filters)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        for number, (given, made) in enumerate(zip([INPUTS, *filters[:-1]], filters, strict=True)):
            norm = [nn.BatchNorm2d(made, **pytorch.NORM)] if number else []
            conv = nn.Conv2d(given, made, **_HALVES)
            self.down.append(nn.Sequential(conv, *norm, nn.LeakyReLU(0.3)))
        given = filters[-1]
        for number, made in enumerate(reversed(filters[:-1])):
            dropout = [nn.Dropout(0.5)] if number < min(3, stages - 4) else []
            conv = nn.ConvTranspose2d(given, made, **_HALVES)
            norm = [nn.BatchNorm2d(made, **pytorch.NORM)]
            self.up.append(nn.Sequential(conv, *norm, *dropout, nn.ReLU()))
            given = 2 * made
        self.last = nn.ConvTranspose2d(given, OUTPUTS, 4, 2, 1)

    def forward(self, x: Any) -> Any:
        across = []
        for stage in self.down:
            x = stage(x)
            across.append(x)
        for stage, beside in zip(self.up, reversed(across[:-1]), strict=True):
            x = torch.cat([stage(x), beside], 1)
        return torch.tanh(self.last(x).float())


def discriminator(width: int) -> nn.Module:
    def stage(given: int, made: int, stride: int) -> list[nn.Module]:
        conv = nn.Conv2d(given, made, 4, stride, 1, bias=False)
        return [conv, nn.BatchNorm2d(made, **pytorch.NORM), nn.LeakyReLU(0.3)]

    return nn.Sequential(
        *(nn.Conv2d(INPUTS + OUTPUTS, width, **_HALVES), nn.LeakyReLU(0.3)),
        *stage(width, 2 * width, 2),
        *stage(2 * width, 4 * width, 2),
        *stage(4 * width, 8 * width, 1),
        nn.Conv2d(8 * width, 1, 4, 1, 1),
    )


def make(task: Task) -> tuple[Take, str]:
    if task.settings.get("network", "published") != "published":
        raise Unavailable("the published networks alone: leave network out")
    place, lies = pytorch.device(), pytorch.layout(task)
    side = int(task.settings["geometry"].partition("x")[0])
    width = int(task.settings.get("width", 64))
    nets = UNet(side, width), discriminator(width)
    pytorch.initialize(*nets)
    g, d = (net.to(place, memory_format=lies) for net in nets)
    g_weights, d_weights = list(g.parameters()), list(d.parameters())
    adams = [
        torch.optim.Adam(weights, 2e-4, (0.5, 0.999), eps=1e-7, fused=True)
        for weights in (g_weights, d_weights)
    ]
    before, after = (
        (torch.rand(PAIRS, channels, side, side, device=place) * 2 - 1)
        for channels in (INPUTS, OUTPUTS)
    )

    def gradients(before: Any, after: Any) -> tuple[Any, Any, list[Any]]:
        with pytorch.autocast(task):
            made = g(before)
            real, fake = (d(torch.cat([before, target], 1)).float() for target in (after, made))
        ones, zeros = torch.ones_like(fake), torch.zeros_like(fake)
        g_loss = cross_entropy(fake, ones) + L1_WEIGHT * (after - made).abs().mean()
        d_loss = cross_entropy(real, ones) + cross_entropy(fake, zeros)
        found = [
            *torch.autograd.grad(g_loss, g_weights, retain_graph=True),
            *torch.autograd.grad(d_loss, d_weights),
        ]
        return g_loss.detach(), d_loss.detach(), found

    gradients = pytorch.compiled(task, gradients)

    def take(count: int) -> tuple[float, float]:
        for _ in range(count):
            rows = torch.randint(PAIRS, [task.batch], device=place)
            pair = (part[rows].contiguous(memory_format=lies) for part in (before, after))
            g_loss, d_loss, found = gradients(*pair)
            pytorch.update(adams[0], g_weights, found[: len(g_weights)])
            pytorch.update(adams[1], d_weights, found[len(g_weights) :])
        return float(g_loss), float(d_loss)

    return take, f"torch {torch.__version__}"
