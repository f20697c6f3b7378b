from __future__ import annotations

import numpy as np

from ganboard.gan.progress import Progress


def test_an_epoch_is_the_float64_mean_of_its_steps() -> None:
    progress = Progress(step=10, epoch=2, compile_seconds=0.5)
    g, d = np.float32([0.1, 0.2, 0.4]), np.float32([1, 2, 3])
    progress.add(g[:1], d[:1], 1.5)
    progress.add(g[1:], d[1:], 2.0)
    done = progress.finish_epoch(96, (1.0, 2.0), (3.0, 4.0))
    assert (done.epoch, done.g_loss, done.d_loss) == (3, float(g.astype(np.float64).mean()), 2.0)
    assert (done.seconds, done.compile_seconds, done.images, done.g_path, done.d_path) == (
        3.5,
        0.5,
        96,
        (1.0, 2.0),
        (3.0, 4.0),
    )
    assert (progress.step, progress.epoch, progress.g_losses.size, progress.seconds) == (
        13,
        3,
        0,
        0.0,
    )
