"""The tools that launch and change; nothing is deleted."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from ganboard.worker.assistant.api_client import Api
from ganboard.worker.assistant.reading import Run

ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
Settings = Annotated[
    dict[str, Any], Field(description='Changed settings by name, such as {"epochs": 5}.')
]
Name = Annotated[str | None, Field(description="By default made from the settings.")]


def add(server: MCPServer[Any], api: Api) -> None:
    """Give a server these tools."""

    async def send(method: str, path: str, **body: Any) -> dict[str, Any]:
        found: dict[str, Any] = await api.send(method, path, **body)
        return found

    @server.tool(annotations=ADDS)
    async def launch_run(
        preset: Annotated[str, Field(description="One of list_settings.")],
        settings: Settings = {},  # noqa: B006  # the schema of the tool shows it
        name: Name = None,
        tags: list[str] = [],  # noqa: B006
    ) -> dict[str, Any]:
        """Queue a run; a worker trains it. Minutes to hours of a machine: ask before a long one."""
        return await send("POST", "/runs", preset=preset, settings=settings, name=name, tags=tags)

    @server.tool(annotations=ADDS)
    async def launch_sweep(
        preset: str,
        values: Annotated[
            dict[str, list[Any]], Field(description="Values to combine, by setting.")
        ],
        settings: Settings = {},  # noqa: B006
        seeds: Annotated[int, Field(ge=1, le=200, description="Runs of each combination.")] = 1,
    ) -> dict[str, Any]:
        """Queue a grid of runs: all combinations of the values. All are stored, or none."""
        return await send(
            "POST", "/sweeps", preset=preset, values=values, settings=settings, seeds=seeds
        )

    @server.tool(annotations=ADDS)
    async def clone_run(
        run: Run,
        settings: Settings = {},  # noqa: B006
        name: Name = None,
    ) -> dict[str, Any]:
        """Queue a run with another's settings, some of them changed."""
        return await send("POST", f"/runs/{run}/clone", settings=settings, name=name)

    @server.tool(annotations=ADDS)
    async def stop_run(run: Run) -> dict[str, Any]:
        """Stop a run at its next step; it saves a checkpoint and can be resumed."""
        return await send("POST", f"/runs/{run}/stop")

    @server.tool(annotations=ADDS)
    async def resume_run(run: Run) -> dict[str, Any]:
        """Queue a stopped or failed run again; it goes on from its latest checkpoint."""
        return await send("POST", f"/runs/{run}/resume")

    @server.tool(annotations=ADDS)
    async def annotate_run(
        run: Run,
        tags: Annotated[list[str] | None, Field(description="Replaces all tags.")] = None,
        note: str | None = None,
    ) -> dict[str, Any]:
        """Tag a run or write its note."""
        changes = {"tags": tags, "note": note}
        given = {key: value for key, value in changes.items() if value is not None}
        return await send("PATCH", f"/runs/{run}", **given)

    @server.tool(annotations=ADDS)
    async def evaluate_run(run: Run) -> dict[str, Any]:
        """Have the stored checkpoints of a run evaluated (FID and others). Takes a while:
        show_request says how far it is."""
        return await send("POST", f"/runs/{run}/evaluations")

    @server.tool(annotations=ADDS)
    async def register_model(
        run: Run,
        name: Annotated[str, Field(description="Of the model.")],
        epoch: Annotated[
            int | None, Field(description="By default the newest checkpoint's.")
        ] = None,
    ) -> dict[str, Any]:
        """Register a checkpoint of a run as the next version of a model."""
        return await send("POST", f"/runs/{run}/versions", name=name, epoch=epoch)
