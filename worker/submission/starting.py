"""The run that another one starts from: `start_from`."""

from __future__ import annotations

from ganboard.db.errors import UnknownRun
from ganboard.db.placement import artifacts
from ganboard.db.runs import queries
from ganboard.gan.config import ConfigError, RunConfig
from ganboard.worker.context import Context


def checked(context: Context, config: RunConfig) -> RunConfig:
    """The configuration with the full id of that run, where it was named by a prefix or as
    `latest`. Raises ConfigError where there is none, it trains another model, or its checkpoints
    are not here."""
    if not config.start_from:
        return config
    from ganboard.gan.checkpoint import reader
    from ganboard.worker import placement
    from ganboard.worker.artifacts.store import configured

    try:
        run = queries.find_run(context.engine, config.start_from)
    except UnknownRun as error:
        raise ConfigError(f"start_from={config.start_from} cannot be used. {error}") from None
    model = run.config.get("model")
    if model != config.model:
        raise ConfigError(
            f"start_from={run.id} is a run of model={model}, whose weights do not fit"
            f" model={config.model}. Name a run of this model."
        )
    here = reader.complete(context.settings.run_dir(run.id) / "checkpoints")
    stored = configured(context.settings) and artifacts.newest(context.engine, run.id)
    if not here and not stored:
        raise ConfigError(f"start_from={run.id} cannot be used. {placement.absence(context, run)}")
    return config.model_copy(update={"start_from": run.id})
