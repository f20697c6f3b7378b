"""The published 3DGAN of 25x25x25 cells, its losses and updates in PyTorch, on showers of noise
that lie in memory: D on real and on generated showers, then G twice."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from ganboard.gan.bench import pytorch
from ganboard.gan.bench.protocol import Take, Task, Unavailable

GEOMETRY, SIDE, LATENT = "25x25x25", 25, 200
SHOWERS = 64
WEIGHTS = 6.0, 0.2, 0.1  # of real, energy and the sum of cells
_NORM = {"eps": 1e-6, "momentum": 0.01}


def networks() -> tuple[nn.Module, nn.Module]:
    """`gan.models.gan3d.architecture`'s generator and discriminator at a fixed angle."""
    generator = nn.Sequential(
        *(nn.Linear(LATENT, 3136), nn.Unflatten(1, (8, 7, 7, 8))),
        *(nn.Conv3d(8, 64, (6, 6, 8), padding="same"), nn.LeakyReLU(0.3)),
        *(nn.BatchNorm3d(64, **_NORM), nn.Upsample(scale_factor=(2, 2, 2))),
        *(nn.Conv3d(64, 6, (6, 5, 8), padding=(2, 2, 0)), nn.LeakyReLU(0.3)),
        *(nn.BatchNorm3d(6, **_NORM), nn.Upsample(scale_factor=(2, 2, 3))),
        *(nn.Conv3d(6, 6, (3, 3, 8), padding=(1, 0, 3)), nn.LeakyReLU(0.3)),
        *(nn.Conv3d(6, 1, 2, bias=False), nn.ReLU()),
    )

    def stage(given: int, padding: int) -> list[nn.Module]:
        conv = nn.Conv3d(given, 8, 5, padding=padding)
        return [conv, nn.LeakyReLU(0.3), nn.BatchNorm3d(8, **_NORM), nn.Dropout(0.2)]

    discriminator = nn.Sequential(
        *(nn.Conv3d(1, 32, 5, padding=2), nn.LeakyReLU(0.3), nn.Dropout(0.2)),
        *(*stage(32, 2), *stage(8, 2), *stage(8, 1)),
        *(nn.AvgPool3d(2), nn.Flatten(), nn.Linear(8 * 11**3, 2)),
    )
    pytorch.initialize(generator, discriminator)
    return generator, discriminator


def make(task: Task) -> tuple[Take, str]:
    if (
        task.settings["geometry"] != GEOMETRY
        or task.settings.get("network", "published") != "published"
    ):
        raise Unavailable(f"the published networks of {GEOMETRY} alone: --set geometry={GEOMETRY}")
    place, lies = pytorch.device(), pytorch.layout(task, axes=3)
    g, d = (net.to(place, memory_format=lies) for net in networks())
    g_weights, d_weights = list(g.parameters()), list(d.parameters())
    optimizers = [
        torch.optim.RMSprop(weights, 1e-3, alpha=0.9, eps=1e-7)
        for weights in (g_weights, d_weights)
    ]
    showers = torch.empty(SHOWERS, 1, SIDE, SIDE, SIDE, device=place).exponential_(1e3)
    energies = torch.rand(SHOWERS, device=place) * 1.5 + 0.5

    def loss(images: Any, energies: Any, sums: Any, real: float) -> Any:
        with pytorch.autocast(task):
            said = d(images).float()
        deposited = images.float().sum([1, 2, 3, 4])
        of_real = cross_entropy(said[:, 0], torch.full_like(said[:, 0], real))
        of_energy = 100 * ((energies - said[:, 1]).abs() / energies).mean()
        of_sum = 100 * ((sums - deposited).abs() / sums).mean()
        return WEIGHTS[0] * of_real + WEIGHTS[1] * of_energy + WEIGHTS[2] * of_sum

    def generated(noise: Any) -> Any:
        with pytorch.autocast(task):
            return g(noise)

    def of_d(images: Any, energies: Any, sums: Any, real: float) -> tuple[Any, Any]:
        value = loss(images, energies, sums, real)
        return value.detach(), torch.autograd.grad(value, d_weights)

    def of_g(noise: Any, energies: Any, sums: Any) -> tuple[Any, Any]:
        value = loss(generated(noise), energies, sums, 1.0)
        return value.detach(), torch.autograd.grad(value, g_weights)

    of_d, of_g, generated = (pytorch.compiled(task, each) for each in (of_d, of_g, generated))

    def take(count: int) -> tuple[float, float]:
        for _ in range(count):
            rows = torch.randint(SHOWERS, [task.batch], device=place)
            images, own = showers[rows].contiguous(memory_format=lies), energies[rows]
            sums = images.sum([1, 2, 3, 4])

            def latents(own: Any = own) -> Any:
                return torch.randn(task.batch, LATENT, device=place) * own[:, None]

            g.eval()
            with torch.no_grad():
                made = generated(latents())
            g.train()
            d_losses, g_losses = [], []
            for shown, real in ((images, 1.0), (made, 0.0)):
                value, found = of_d(shown, own, sums, real)
                pytorch.update(optimizers[1], d_weights, found)
                d_losses.append(value)
            for _ in range(2):
                value, found = of_g(latents(), own, sums)
                pytorch.update(optimizers[0], g_weights, found)
                g_losses.append(value)
        return float(sum(g_losses)) / 2, float(sum(d_losses)) / 2

    return take, f"torch {torch.__version__}"
