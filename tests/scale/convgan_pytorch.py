"""`convgan` at 64x64 pixels in 3 colours as PyTorch's users write it, for `tests.scale.convgan`,
which starts this file with a Python that has PyTorch and none of our libraries: arguments are the
form (eager, channels_last, compiled), the precision, and whether D has batch norm (0 or 1).

Both nets are updated from one forward pass, with fused Adam. For each line with a number of steps
on its standard input it takes them, and answers the seconds of processor time.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

BATCH, LATENTS, WIDTH, IMAGES = 64, 100, 32, 2048
NORM = {"eps": 1e-5, "momentum": 0.1}
KERNEL: dict[str, Any] = {"kernel_size": 4, "stride": 2, "padding": 1}


def networks(norm: bool) -> tuple[Any, Any]:
    """G and D with the layers of gan/models/convgan.py."""
    filters = [3, WIDTH, 2 * WIDTH, 4 * WIDTH, 8 * WIDTH]
    g = [nn.Linear(LATENTS, 16 * filters[-1], bias=False), nn.Unflatten(1, (filters[-1], 4, 4))]
    for level in (4, 3, 2, 1):
        bias, given, made = level == 1, filters[level], filters[level - 1]
        g += [nn.BatchNorm2d(given, **NORM), nn.ReLU()]
        g.append(nn.ConvTranspose2d(given, made, bias=bias, **KERNEL))
    d = []
    for level in (1, 2, 3, 4):
        normed, given, made = norm and level > 1, filters[level - 1], filters[level]
        d.append(nn.Conv2d(given, made, bias=not normed, **KERNEL))
        d += [*([nn.BatchNorm2d(made, **NORM)] if normed else []), nn.LeakyReLU(0.2)]
    d += [nn.Flatten(), nn.Linear(16 * filters[-1], 1)]
    return nn.Sequential(*g, nn.Tanh()), nn.Sequential(*d)


def main(form: str, precision: str, norm: str) -> None:
    layout = torch.contiguous_format if form == "eager" else torch.channels_last
    g, d = (net.to(memory_format=layout) for net in networks(norm == "1"))
    weights = list(g.parameters()), list(d.parameters())
    adams = [torch.optim.Adam(of, 2e-4, betas=(0.5, 0.999), fused=True) for of in weights]
    images = torch.randint(0, 256, (IMAGES, 3, 64, 64), dtype=torch.uint8)

    def gradients(real: Any, noise: Any) -> tuple[Any, list[Any]]:
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "mixed_bfloat16"):
            fake = g(noise)
            real_logits, fake_logits = d(real), d(fake)
        ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)
        g_loss = cross_entropy(fake_logits.float(), ones)
        d_loss = cross_entropy(real_logits.float(), ones)
        d_loss = d_loss + cross_entropy(fake_logits.float(), zeros)
        found = [
            *torch.autograd.grad(g_loss, weights[0], retain_graph=True),
            *torch.autograd.grad(d_loss, weights[1]),
        ]
        return g_loss.detach(), found

    if form == "compiled":
        torch._dynamo.config.trace_autograd_ops = True
        gradients = torch.compile(gradients, fullgraph=True)

    for line in sys.stdin:
        began = time.process_time()
        for _ in range(int(line)):
            rows = torch.randint(0, IMAGES, (BATCH,))
            real = (images[rows].float() / 127.5 - 1).contiguous(memory_format=layout)
            loss, found = gradients(real, torch.randn(BATCH, LATENTS))
            for weight, gradient in zip([*weights[0], *weights[1]], found, strict=True):
                weight.grad = gradient
            for adam in adams:
                adam.step()
        float(loss)
        print(time.process_time() - began, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
