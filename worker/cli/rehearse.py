"""The command that compiles for devices that are not here: `ganboard rehearse`. Thin, as those of
`worker.cli.main`, which lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, Changes, open_database

if TYPE_CHECKING:
    from ganboard.gan.config import RunConfig
    from ganboard.worker.context import Context

# in place of a run or preset
PUBLISHED, MODELS = "published", "models"
EVERYWHERE = "v2-8,v3-8,v4-8,v5e-1,v5e-8,v6e-4,h100,4xh100,a100,t4"


def rehearse(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="RUN-OR-PRESET",
            help="A preset, a run as for `show`, `models`: every model in every precision, or"
            " `published`: the steps of the published tables on their machines.",
        ),
    ],
    on: Annotated[
        str,
        typer.Option(
            "--on",
            metavar="TARGETS",
            help="Devices, separated by commas: v2-8, v3-8, v4-8, v5e-1, v5e-8, v6e-4, h100, 4xh100"
            " and others.",
        ),
    ] = "",
    changes: Changes = None,
    models: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="NAMES",
            help="With `models`: these alone, separated by commas; defaults to all that come with"
            " ganboard.",
        ),
    ] = "",
    precision: Annotated[
        str,
        typer.Option(
            "--precision",
            metavar="NAMES",
            help="float32, mixed_bfloat16, mixed_float16, separated by commas; defaults to the"
            " configuration's, with `models` to all three.",
        ),
    ] = "",
    form: Annotated[
        str,
        typer.Option(
            "--form",
            help="step: the whole step in one program. gradients: the gradient functions alone,"
            " which is what xla=true compiles on a GPU.",
        ),
    ] = "step",
    largest_batch: Annotated[
        bool,
        typer.Option(
            "--largest-batch/--no-largest-batch",
            help="Find the largest batch that fits, which takes several compilations.",
        ),
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Compile the training step for TPUs and GPUs that are not here: does it compile, what memory
    does it take, which collectives does it make, roughly how long does a step take.

    The real compilers do it on this machine's CPU, in an environment of their own that the first
    use installs (1.8 GB). A program takes half a minute to half an hour on two cores and is kept,
    so that asking again is quick. Nothing is run: times are estimates, and say from what. The
    exit code is 1 when something does not compile.

    Examples:
      ganboard rehearse paper --on v5e-1
      ganboard rehearse paper --set batch_size=512 --on v3-8,v5e-8,4xh100 --no-largest-batch
      ganboard rehearse models --model convgan,sngan --on v5e-1,h100
      ganboard rehearse published --json > gan/studies/predicted.json
      ganboard rehearse latest --on h100 --precision float32,mixed_bfloat16,mixed_float16 --json
    """
    from ganboard.gan.config import ConfigError
    from ganboard.gan.rehearsal.targets import parse_targets
    from ganboard.worker.rehearsal import view
    from ganboard.worker.rehearsal.calibration import calibrated
    from ganboard.worker.rehearsal.rehearse import Options
    from ganboard.worker.rehearsal.rehearse import rehearse as compile_all

    if subject == PUBLISHED:
        return _published(as_json)
    if subject == MODELS:
        if changes or form != "step":
            raise ConfigError(
                "`models` compiles whole steps with the settings of `ganboard bench`: leave out"
                " --set and --form, or name a preset or a run."
            )
        return _models(on or EVERYWHERE, _names(models), _precisions(precision), as_json)
    if models:
        raise ConfigError(
            f"--model {models[:60]} goes with `models` alone: write `ganboard rehearse models"
            " --model NAMES`, or use --set model=NAME."
        )
    targets = parse_targets(on)
    if form not in ("step", "gradients"):
        raise ConfigError(f"--form {form[:40]} is invalid: use step or gradients.")
    context = open_database(create=True)
    config = _config(context, subject, changes)
    precisions = _precisions(precision) or [config.precision]
    options = Options(targets, precisions, "step" if form == "step" else "gradients", largest_batch)
    with view.Lines(quiet=as_json) as lines:
        compiled = compile_all(context, config, options, lines)
    reports = [calibrated(context.engine, report) for report in compiled]
    if as_json:
        output.print_json(reports)
    else:
        view.show(reports)
    raise typer.Exit(0 if all(report["compiles"] for report in reports) else 1)


def _published(as_json: bool) -> None:
    from ganboard.worker.rehearsal import view
    from ganboard.worker.rehearsal.published import predict

    with view.Lines(quiet=as_json) as lines:
        found = predict(open_database(create=True), lines)
    if as_json:
        output.print_json(found)
    else:
        view.show_published(found)


def _names(text: str) -> list[str]:
    """What an option with commas names, each once."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _precisions(text: str) -> list[str]:
    from ganboard.gan.config import parse_value

    return [str(parse_value("precision", name)) for name in _names(text)]


def _models(on: str, names: list[str], precisions: list[str], as_json: bool) -> None:
    """A table of targets, models and precisions."""
    from ganboard.gan.rehearsal.benchmarks import benchmark_configs
    from ganboard.gan.rehearsal.targets import parse_targets
    from ganboard.worker.bench.candidates import PRECISIONS
    from ganboard.worker.rehearsal import view
    from ganboard.worker.rehearsal.rehearse import Options
    from ganboard.worker.rehearsal.rehearse import rehearse as compile_all

    every = (*PRECISIONS, "mixed_float16")
    options = Options(parse_targets(on), precisions or every, largest=False)
    configs = benchmark_configs(names)
    context, reports = open_database(create=True), []
    with view.Lines(quiet=as_json) as lines:
        for config in configs:
            reports += compile_all(context, config, options, lines)
    if as_json:
        output.print_json(reports)
    else:
        view.show(reports, parts=False)


def _config(context: Context, subject: str, changes: list[str] | None) -> RunConfig:
    """The configuration of a preset or of a stored run, with changes."""
    from ganboard.db.runs import queries
    from ganboard.gan import presets
    from ganboard.gan.config import parse, parse_assignments

    changed = parse_assignments(changes or [])
    if presets.current(subject) in presets.NAMES:
        return presets.load(subject, changed)
    return parse({**queries.find_run(context.engine, subject).config, **changed})
