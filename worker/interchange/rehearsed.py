"""What a bundle may say of a rehearsal."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ganboard.worker.interchange.fields import Count, Few, Map, Name, Seconds, Share, Short, Word


class _Part(BaseModel):
    # deferred: the dashboard imports this and seldom reads a bundle, for which it would hold 6 MB
    model_config = ConfigDict(extra="ignore", strict=False, defer_build=True)


class _ProgramPart(_Part):
    part: Short
    backward: bool
    share: Share


class _Collective(_Part):
    kind: Short
    part: Short
    count: Few
    bytes: Count


class _Program(_Part):
    name: Short
    calls: Annotated[float, Field(gt=0, le=10_000)]
    kernels: Few
    fusions: Few
    convolutions: Few
    cycles: Count
    seconds: Seconds
    padding: Share = 0.0
    copy_cycles: Count = 0
    compiler: Short = ""
    compile_seconds: Seconds = 0.0
    host: Annotated[list[Short], Field(max_length=100)] = []
    parts: Annotated[list[_ProgramPart], Field(max_length=1000)]
    collectives: Annotated[list[_Collective], Field(max_length=1000)]


class _Memory(_Part):
    arguments: Count
    temporaries: Count
    outputs: Count
    code: Count
    total: Count


class _LargestBatch(_Part):
    batch: Few
    memory: Count | None = None
    too_large: Few | None = None
    reason: Word = ""
    compilations: Few


class _Compiled(_Part):
    """What a report holds beside its head where the step compiles."""

    programs: Annotated[list[_Program], Field(min_length=1, max_length=100)]
    memory: _Memory
    computing_seconds: Seconds
    exchange_seconds: Seconds
    step_seconds: Seconds
    collectives: Few
    exchanged_bytes: Count
    compile_seconds: Seconds = 0.0
    advice: Annotated[list[Word], Field(max_length=100)] = []
    largest_batch: _LargestBatch | None = None


class ReportDocument(_Part):
    """A rehearsal, as `gan.rehearsal.report` makes it."""

    version: Annotated[int, Field(ge=1, le=1)]
    target: Name
    title: Short
    replicas: Annotated[int, Field(ge=1, le=100_000)]
    device_memory: Annotated[int, Field(ge=1, le=2**53)]
    form: Name
    model: Name
    batch_size: Annotated[int, Field(ge=1, le=10_000_000)]
    precision: Name
    settings: Map
    basis: Word
    at: Seconds | None = None
    seconds: Seconds | None = None
    compiles: bool
    reason: Word = ""
    compiled: _Compiled | None = None

    @model_validator(mode="before")
    @classmethod
    def _apart(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("compiles"):
            return {**given, "compiled": given}
        return given

    def report(self) -> dict[str, Any]:
        """As it is stored."""
        compiled = self.compiled.model_dump(exclude_unset=True) if self.compiled else {}
        return {**self.model_dump(exclude_unset=True, exclude={"compiled"}), **compiled}
