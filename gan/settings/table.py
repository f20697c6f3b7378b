"""The settings that every training has: each hyper-parameter with its default, limits and reason.

An entry has a type, a default, a group, a description, and what else `setting` takes. The launch
form, the command line, differences between runs, checkpoints and estimates follow from it. What a
model adds is in its own `Config`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from ganboard.gan.settings.declarations import setting


class Settings(BaseModel):
    """The fields of `RunConfig`, which adds the rules between them."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=False)

    # fmt: off
    dataset: str = setting("mnist", "Data",
        "Training data; which there are depends on the model",
        max_length=80, self_explanatory=True,
        study="Different images: losses and images cannot be compared with the study's, seconds"
        " per image can.")
    images_path: str = setting("", "Data",
        "The folder or file to read, relative to the data directory",
        max_length=300)
    limit: int | None = setting(None, "Data",
        "Use only the first examples: shorter epochs for a first look",
        unit="images", ge=1, le=10_000_000,
        study="Fewer images: an epoch is shorter than the study's, so compare by steps.")

    model: str = setting("", "Model",
        "Networks, losses and data: a built-in model, or one of your own (GANBOARD_MODELS)",
        max_length=80, speed=True, self_explanatory=True)

    batch_size: int = setting(64, "Training",
        "Global batch size over all replicas; the study sweeps 32 to 512",
        unit="images", short="batch", ge=1, le=65_536,
        study="The study varies it (Figs. 5 to 10: 64 to 512): compare with its curve for the same"
        " size.")
    accumulate: int = setting(1, "Training",
        "Split the batch into this many equal parts and accumulate their gradients before each"
        " update: large batches in little memory",
        unit="parts", speed=True, ge=1, le=1024,
        study="Same gradients in parts: losses stay comparable (batch norm sees each part alone),"
        " times do not.")
    epochs: int = setting(30, "Training",
        "Passes over the data (the study: 30)",
        unit="epochs", affects="result", ge=1, le=100_000,
        study="The study trains for 30: compare equal epochs, not the last ones.")
    ema: float = setting(0.0, "Training",
        "Decay of a moving average of G's weights, used for grids and quality (0 is off, 0.999 is"
        " usual)",
        label="EMA of G", ge=0, lt=1)
    seed: int = setting(0, "Training",
        "Random seed: weights, data order, noise and dropout all follow from it",
        ge=0, le=2**31 - 1,
        study="Different random numbers: differences of this size are noise.")
    start_from: str = setting("", "Training",
        "Run whose newest checkpoint the networks begin with, wherever names and shapes agree"
        " (transfer learning); empty: untrained",
        label="Start from run", max_length=80,
        study="The study trains from random weights.")

    optimizer: Literal["adam", "sgd", "rmsprop"] = setting("adam", "Optimizer",
        "Optimizer of both networks (Table 1: Adam)",
        self_explanatory=True,
        study="The study names Adam in Table 1 and SGD in its text: losses fall at a different"
        " speed.")
    g_learning_rate: float = setting(1e-4, "Optimizer",
        "Learning rate of G (Table 1: 1e-4); unequal rates are TTUR (Heusel et al. 2017)",
        label="G learning rate", short="G rate", gt=0, le=10)
    d_learning_rate: float = setting(1e-4, "Optimizer",
        "Learning rate of D (Table 1: 1e-4)",
        label="D learning rate", short="D rate", gt=0, le=10)
    beta_1: float = setting(0.9, "Optimizer",
        "Adam's first-moment decay, or SGD's momentum; 0.5 stabilizes GANs",
        label="Beta 1", when=("optimizer", "adam", "sgd"), ge=0, lt=1)
    beta_2: float = setting(0.999, "Optimizer",
        "Adam's second-moment decay",
        when=("optimizer", "adam"), ge=0, lt=1)
    rho: float = setting(0.9, "Optimizer",
        "RMSprop's decay of the mean square",
        label="RMSprop's rho", when=("optimizer", "rmsprop"), ge=0, lt=1)
    epsilon: float = setting(1e-7, "Optimizer",
        "Constant that Adam and RMSprop add to the root of the mean square",
        when=("optimizer", "adam", "rmsprop"), gt=0, le=1)
    clip_norm: float = setting(0.0, "Optimizer",
        "Clip each network's global gradient norm, over all replicas, to this value (0 is off)",
        ge=0, le=1e6)

    schedule: Literal["constant", "cosine_restart", "cyclic"] = setting("constant", "Schedule",
        "Learning rates over the epochs: constant, cosine decay with restarts (SGDR), or cyclic"
        " (Fig. 9)",
        study="Table 1 keeps the rates constant, Fig. 9 shows them moving: this is the second"
        " reading.")
    schedule_for: Literal["both", "generator", "discriminator"] = setting("both", "Schedule",
        "Whose learning rate follows the schedule; the other stays constant",
        label="Schedule moves", unless=("schedule", "constant"))
    schedule_period: float = setting(17.0, "Schedule",
        "Epochs from restart to restart, or from minimum to minimum (Fig. 9: 17)",
        unit="epochs", unless=("schedule", "constant"), gt=0, le=100_000)
    schedule_minimum: float = setting(7.0, "Schedule",
        "Epoch of the first minimum of schedule=cyclic (Fig. 9: 7)",
        unit="epochs", when=("schedule", "cyclic"), ge=0, le=100_000)
    schedule_depth: float = setting(0.9, "Schedule",
        "How far a rate falls below its value, as a share of it",
        unless=("schedule", "constant"), ge=0, le=1)
    warmup_epochs: float = setting(0.0, "Schedule",
        "Ramp the rates up from zero over this many epochs (Goyal et al. 2017)",
        unit="epochs", label="Warm-up", ge=0, le=100_000)
    lr_scaling: Literal["none", "linear", "sqrt"] = setting("none", "Schedule",
        "Multiply the rates by batch_size / lr_base_batch, or by its square root, for large"
        " batches",
        label="Rate scaling",
        study="The study has one rate for all batch sizes: large batches move farther here.")
    lr_base_batch: int = setting(64, "Schedule",
        "Batch size for which the learning rates were chosen",
        unit="images", label="Base batch", unless=("lr_scaling", "none"), ge=1, le=65_536)

    precision: Literal["float32", "mixed_bfloat16", "mixed_float16"] = setting(
        "float32", "Acceleration",
        "Number format of matrix products and convolutions; weights, logits and losses stay"
        " float32",
        speed=True, self_explanatory=True,
        study="The study's TPU computes in mixed bfloat16: compare times and quality; losses"
        " differ slightly.")
    xla: bool = setting(False, "Acceleration",
        "Compile the gradient function with XLA: faster on GPU and TPU, often not on CPU",
        label="XLA", speed=True,
        study="The study's TPU programs are always compiled by XLA: same losses, different times.")
    strategy: Literal["auto", "default", "mirrored", "multi_worker", "tpu"] = setting(
        "auto", "Acceleration",
        "Where replicas run: on devices of one process (mirrored), one per process (multi_worker)"
        " or on TPU cores; auto is mirrored when replicas > 1")
    replicas: int = setting(1, "Acceleration",
        "Copies of the networks, each taking an equal share of the batch; one process each with"
        " multi_worker",
        unit="replicas", ge=1, le=1024,
        study="The study uses 8 TPU cores: same losses for the same batch size, different times.")
    hosts: int = setting(1, "Acceleration",
        "Machines that share the processes of strategy=multi_worker equally; they start together"
        " or not at all",
        unit="machines", affects="records", ge=1, le=1024)
    average_every: int = setting(1, "Acceleration",
        "Steps between averages of the weights over all processes (local SGD, Stich 2019); 1 sums"
        " gradients in every step instead",
        unit="steps", label="Average weights every", when=("strategy", "multi_worker"), speed=True,
        ge=1, le=1000)
    on_lost_host: Literal["wait", "shrink"] = setting("wait", "Acceleration",
        "When machines are lost and none replaces them: wait, or go on with fewer replicas and the"
        " same global batch, where it divides",
        label="When a machine is lost", unless=("hosts", 1), affects="records")
    placement: Literal["workers", "slurm", "kubernetes"] = setting("workers", "Acceleration",
        "Who starts the run: ganboard's workers, or the scheduler of a cluster",
        label="Started by", affects="records")
    scheduler_options: str = setting("", "Acceleration",
        "Options for the scheduler, such as --partition=gpu --gres=gpu:1 --time=4:00:00 for SLURM",
        unless=("placement", "workers"), affects="records", max_length=500)
    steps_per_execution: int = setting(1, "Acceleration",
        "Steps that a TPU takes in one program before it returns to the host, which then waits"
        " once for so many; equal losses",
        unit="steps", when=("strategy", "tpu"), speed=True, ge=1, le=256)
    needs: str = setting("", "Acceleration",
        "What the machine must have: labels, tpu, cores>=8, memory>=32, gpus>=1, gpu_memory>=24,"
        " gpu=A100 or host=NAME, separated by commas",
        label="Machine must have", affects="records", max_length=300)
    prefers: str = setting("", "Acceleration",
        "What the machine should have, in the terms of needs: one that has it and is free goes"
        " first",
        label="Machine should have", affects="records", max_length=300)
    loop: Literal["custom", "fit"] = setting("custom", "Acceleration",
        "Custom training loop, or Keras fit with a custom train_step",
        speed=True)
    sync_batch_norm: bool = setting(True, "Acceleration",
        "Batch norm over the whole batch, so that n replicas compute what one does; off: over each"
        " replica's own share, which saves two exchanges per layer and update",
        label="Batch norm over all replicas", unless=("replicas", 1), speed=True,
        study="The study's Keras layers took each TPU core's own share: with several replicas"
        " losses differ.")
    rng: Literal["philox", "hash"] = setting("philox", "Acceleration",
        "Generator of a step's noise and dropout: Philox, or an element-wise hash for TPUs and"
        " GPUs, on a TPU a twentieth of the cost by the compiler's estimate",
        label="Random numbers", speed=True,
        study="Other random numbers of the same distributions: differences of this size are"
        " noise.")

    quality_every: int = setting(0, "Quality",
        "Evaluate the generator every N epochs and after the last (0: never); needs labelled"
        " images, showers or held-out flows",
        unit="epochs", affects="records", ge=0, le=10_000)
    quality_images: int = setting(2000, "Quality",
        "Number of generated and of real images, showers or pairs to compare",
        unit="images", label="Evaluated on", unless=("quality_every", 0), affects="result",
        ge=200, le=50_000)

    on_non_finite: Literal["stop", "roll_back"] = setting("stop", "Safety",
        "When a loss, gradient or weight is not finite: end the run, or return once to the last"
        " checkpoint and continue with half the rates",
        label="When not finite", affects="result")
    stall_seconds: int = setting(600, "Safety",
        "Log every thread's stack when no step finishes within this time, and restart from the"
        " last checkpoint after twice this time (0: never)",
        unit="seconds", label="Stalled after", affects="records", ge=0, le=86_400)
    max_minutes: float = setting(0.0, "Safety",
        "Stop with a checkpoint after this many minutes of training in one attempt (0: never);"
        " the run can be resumed",
        unit="minutes", label="Stop after", affects="records", ge=0, le=1_000_000)

    grid_every: int = setting(1, "Output",
        "Draw the grid of images from fixed latents every N epochs (first and last always)",
        unit="epochs", affects="records", ge=1, le=10_000)
    grid_size: int = setting(8, "Output",
        "Images per side of the grid",
        unit="images", affects="records", ge=1, le=16)
    checkpoint_every: int = setting(1, "Output",
        "Save a checkpoint every N epochs (also on stop and every five minutes)",
        unit="epochs", affects="records", ge=1, le=10_000)
    keep_checkpoints: int = setting(3, "Output",
        "Number of latest checkpoints to keep",
        label="Checkpoints kept", affects="records", ge=1, le=100)
    snapshots: int = setting(10, "Output",
        "Number of snapshots of the weights to keep, spread evenly over the run, for its path on"
        " a loss surface (5 MB each for DCGAN; 0: none)",
        affects="records", ge=0, le=200)
    tensorboard: bool = setting(False, "Output",
        "Write TensorBoard event files while training, in the run's folder",
        label="TensorBoard files", affects="records")
    profile_steps: str = setting("", "Output",
        "Record a profiler trace of these steps, such as 20:30 (after step 20 up to step 30), for"
        " TensorBoard and Perfetto; empty: none",
        affects="records", max_length=40)
    # fmt: on
