"""`ganboard mcp` as assistants start it: a process that talks on standard input and output."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from mcp import Client, StdioServerParameters

from ganboard.db.models import Run
from ganboard.worker.context import Context
from tests.unit.worker.assistant.loop import in_a_loop


def test_an_assistant_asks_a_process(context: Context, make_run: Callable[..., Run]) -> None:
    runs = [make_run(f"seed {seed}", quality_every=1, seed=seed) for seed in range(2)]
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "ganboard", "mcp"],
        env={"GANBOARD_HOME": str(context.settings.home)},
    )

    async def asked() -> Any:
        async with Client(command) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return names, await client.call_tool("rank_runs", {})

    names, found = in_a_loop(asked)
    assert "launch_run" not in names
    (ranking,) = found.structured_content["result"]
    assert {run["id"] for run in ranking["runs"]} == {run.id for run in runs}
