"""The tools that change nothing."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server.mcpserver import Image, MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from ganboard.worker.assistant.api_client import Api

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
EPOCHS = 20  # of a run that are shown, the last among them
POINTS = 100  # of a curve
Run = Annotated[str, Field(description="Id of a run, the beginning of one, or `latest`.")]


def add(server: MCPServer[Any], api: Api) -> None:
    """Give a server these tools."""

    @server.tool(annotations=READS)
    async def rank_runs(
        metric: Annotated[str | None, Field(description="Such as fid.")] = None, limit: int = 10
    ) -> list[dict[str, Any]]:
        """Which evaluated runs are best. One ranking for each model, data set and way of
        evaluating, since numbers of different ones cannot be compared. To say why one is best,
        compare the runs."""
        return await listed(api.get("/rankings", metric=metric, limit=limit))

    @server.tool(annotations=READS)
    async def list_runs(
        status: Annotated[
            list[str],
            Field(description="queued, starting, running, finished, failed, stopped, suspended"),
        ] = [],  # noqa: B006  # the schema of the tool shows it; it is never changed
        tag: list[str] = [],  # noqa: B006
        name: Annotated[str, Field(description="A part of the name.")] = "",
        setting: Annotated[
            list[str], Field(description="KEY=VALUE, such as batch_size=64; all must hold.")
        ] = [],  # noqa: B006
        sweep: str | None = None,
        limit: int = 20,
        after: Annotated[str | None, Field(description="`next` of the page before.")] = None,
    ) -> dict[str, Any]:
        """Runs, newest first, with state, progress and latest losses."""
        page = await api.get(
            "/runs",
            status=status,
            tag=tag,
            name=name or None,
            setting=setting,
            sweep=sweep,
            limit=limit,
            after=after,
        )
        return {"runs": [_brief(run) for run in page["items"]], "next": page["next"]}

    @server.tool(annotations=READS)
    async def show_run(run: Run) -> dict[str, Any]:
        """A run: settings, hardware, state, evaluations, and up to 20 of its epochs."""
        found: dict[str, Any] = await api.get(f"/runs/{run}")
        epochs = found["epochs"]
        every = -(-len(epochs) // EPOCHS)
        found["epochs"] = epochs[::-1][:: every or 1][::-1]
        if every > 1:
            found["epochs_shown"] = f"1 of every {every} of {len(epochs)}, the last included"
        return found

    @server.tool(annotations=READS)
    async def compare_runs(
        runs: Annotated[list[str], Field(min_length=2, max_length=50)],
        baseline: Annotated[str | None, Field(description="By default the first run.")] = None,
    ) -> dict[str, Any]:
        """Runs against a baseline: a verdict on speed and image quality, the settings that differ,
        and caveats that make the comparison unfair. Repeat the caveats to whoever asked."""
        found: dict[str, Any] = await api.get("/comparison", run=runs, baseline=baseline)
        return found

    @server.tool(annotations=READS)
    async def explain_run(run: Run) -> dict[str, Any]:
        """What stands out in the course of a run: mode collapse, an overpowering discriminator,
        plateaus, loss spikes, slow epochs, restarts; with evidence, advice, and settings for a
        clone."""
        found: dict[str, Any] = await api.get(f"/runs/{run}/explanation")
        return found

    @server.tool(annotations=READS)
    async def list_metrics(run: Run) -> list[dict[str, Any]]:
        """The metrics that are stored of a run, and what they mean."""
        return await listed(api.get(f"/runs/{run}/metrics"))

    @server.tool(annotations=READS)
    async def metric_values(
        run: Run,
        metric: Annotated[
            list[str], Field(description="Metrics or expressions, such as d_loss / g_loss.")
        ],
        over: Annotated[str, Field(description="step, epoch, images, seconds or time")] = "epoch",
    ) -> list[dict[str, Any]]:
        """The course of metrics, in about 100 points with the extremes kept."""
        return await listed(api.get(f"/runs/{run}/values", metric=metric, over=over, points=POINTS))

    @server.tool(annotations=READS)
    async def run_events(run: Run, limit: int = 50) -> list[dict[str, Any]]:
        """Events of a run, newest first: starts, warnings, checkpoints, the reason of a failure."""
        return await listed(api.get(f"/runs/{run}/events", limit=limit))

    @server.tool(annotations=READS)
    async def show_images(
        run: Run, epoch: Annotated[int | None, Field(description="By default the newest.")] = None
    ) -> Image:
        """The images that a run generated after an epoch, as a grid: always of the same latents."""
        path = f"/runs/{run}/images/{'latest' if epoch is None else epoch}"
        return Image(data=await api.read(path), format="png")

    @server.tool(annotations=READS)
    async def list_models() -> list[dict[str, Any]]:
        """Registered versions of models, and their quality in words."""
        return await listed(api.get("/models"))

    @server.tool(annotations=READS)
    async def list_machines() -> list[dict[str, Any]]:
        """The machines that train: hardware, state, what each does."""
        return await listed(api.get("/machines"))

    @server.tool(annotations=READS)
    async def list_settings() -> dict[str, Any]:
        """Presets, and all settings with defaults, ranges and reasons to change them."""
        found: dict[str, Any] = await api.get("/settings")
        return found

    @server.tool(annotations=READS)
    async def show_request(
        request_id: Annotated[str, Field(description="As evaluate_run or register_model gave it.")],
    ) -> dict[str, Any]:
        """How far an evaluation or registration is."""
        found: dict[str, Any] = await api.get(f"/requests/{request_id}")
        return found


async def listed(answer: Any) -> list[dict[str, Any]]:
    """What an address answers that has a list."""
    found: list[dict[str, Any]] = await answer
    return found


BRIEF = (
    *("id", "name", "status", "preset", "tags", "created_at", "epoch", "step", "seconds"),
    *("images_per_second", "g_loss", "d_loss", "phase", "error", "sweep"),
)


def _brief(run: dict[str, Any]) -> dict[str, Any]:
    config = run["config"]
    what = {name: config.get(name) for name in ("model", "dataset", "epochs", "batch_size")}
    return {name: run[name] for name in BRIEF} | what
