"""The tools that read what many runs answer together: studies, searches, claims."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from pydantic import Field

from ganboard.worker.assistant.api_client import Api
from ganboard.worker.assistant.reading import READS, listed

BEST = 20  # trials of a search that are shown
LONG = ("definition", "treatment", "control", "machine", "pairs")  # left out
Id = Annotated[str, Field(description="An id, the beginning of one, or `latest`.")]
Limit = Annotated[int, Field(ge=1, le=200)]
After = Annotated[str | None, Field(description="`next` of the previous page.")]


def add(server: MCPServer[Any], api: Api) -> None:
    """Give a server these tools."""

    async def get(path: str, **query: Any) -> dict[str, Any]:
        found: dict[str, Any] = await api.get(path, **query)
        return {name: value for name, value in found.items() if name not in LONG}

    @server.tool(annotations=READS)
    async def list_studies(limit: Limit = 20, after: After = None) -> dict[str, Any]:
        """Studies, newest first: grids of runs that answer a question together, beside published
        claims."""
        return await get("/studies", limit=limit, after=after)

    @server.tool(annotations=READS)
    async def show_study(study: Id) -> dict[str, Any]:
        """How far a study is, and its results: verdict, finding, the published claim, and what is
        lacking for a verdict. A prediction is no measurement."""
        results = await listed(api.get(f"/studies/{study}/results"))
        short = [{name: one[name] for name in one if name != "table"} for one in results]
        return await get(f"/studies/{study}") | {"results": short}

    @server.tool(annotations=READS)
    async def list_searches(limit: Limit = 20, after: After = None) -> dict[str, Any]:
        """Searches over settings, newest first, with objective and budget."""
        return await get("/searches", limit=limit, after=after)

    @server.tool(annotations=READS)
    async def show_search(search: Id) -> dict[str, Any]:
        """How far a search is, its best settings, how much each setting matters, and up to 20 of
        its trials, the best first."""
        found = await get(f"/searches/{search}")
        sign = -1 if found["better"] == "higher" else 1
        ranked = sorted(
            found["trials"], key=lambda one: (one["value"] is None, sign * (one["value"] or 0.0))
        )
        if len(ranked) > BEST:
            found["trials_shown"] = f"the best {BEST} of {len(ranked)}"
        return found | {"trials": ranked[:BEST]}

    @server.tool(annotations=READS)
    async def list_claims(limit: Limit = 20, after: After = None) -> dict[str, Any]:
        """Claims about two configurations, newest first, with their verdicts."""
        return await get("/claims", limit=limit, after=after)

    @server.tool(annotations=READS)
    async def show_claim(claim: Id) -> dict[str, Any]:
        """A claim: verdict, the interval of each condition after every pair of runs, caveats.
        Repeat the caveats to whoever asked."""
        return await get(f"/claims/{claim}")
