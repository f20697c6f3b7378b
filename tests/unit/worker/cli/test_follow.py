"""Following a run: lines in a pipe, a bar on a terminal, exit codes by outcome."""

from __future__ import annotations

import threading

import pytest

from ganboard.db.runs import commands, queries
from ganboard.worker.context import Context
from tests.attempt import claimed, finish_epoch
from tests.cli import document, ganboard, on_a_terminal
from tests.factories import make_worker
from tests.polling import wait_until


class _Trainer:
    """A thread that takes the first run it finds and carries it through two epochs to `outcome`."""

    def __init__(self, context: Context, outcome: str) -> None:
        self._context, self._outcome = context, outcome
        self._thread = threading.Thread(target=self._train)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    def _train(self) -> None:
        engine = self._context.engine
        wait_until(lambda: queries.count_runs(engine), seconds=60, what="the run")
        run = claimed(self._context, run_id=queries.list_runs(engine)[0].id)
        finish_epoch(self._context, run, 1, 0.5, 0.25)
        finish_epoch(self._context, run, 2, 0.5, 0.125)
        error = "It broke." if self._outcome == "failed" else None
        commands.finish(engine, run_id=run.id, attempt=1, status=self._outcome, error=error)


@pytest.mark.parametrize(("outcome", "code"), [("finished", 0), ("failed", 1), ("stopped", 3)])
def test_follow_prints_a_line_per_epoch_and_exits_by_the_outcome(
    context: Context, outcome: str, code: int
) -> None:
    with _Trainer(context, outcome):
        result = ganboard("run", "--preset", "tiny", "--follow", code=code)
    lines = [line for line in result.stdout.splitlines() if line.startswith("epoch ")]
    assert lines[0] == "epoch 1/2: G 0.5000, D 0.2500, 2.00 s, 64 images/s, 2.0 s left"
    assert lines[1] == "epoch 2/2: G 0.5000, D 0.1250, 2.00 s, 64 images/s, 0 s left"
    assert len(lines) == 2
    assert [line for line in result.stdout.splitlines() if line.startswith("quality ")] == [
        "quality after epoch 1: FID 10.00, recall 0.50, evaluated in 0.2 s",
        "quality after epoch 2: FID 5.00, recall 0.50, evaluated in 0.2 s",
    ]
    assert (
        "Time: computing 75%, host 25%; beside that 500 ms evaluating quality." in result.stdout
    ) == (outcome != "failed")
    assert ("failed: It broke." in result.stderr) == (outcome == "failed")


@pytest.mark.parametrize(("outcome", "code"), [("finished", 0), ("failed", 1)])
def test_follow_json_prints_the_final_document_alone(
    context: Context, outcome: str, code: int
) -> None:
    with _Trainer(context, outcome):
        final = document("run", "--preset", "tiny", "--follow", code=code)
    assert final["status"] == outcome
    assert [epoch["epoch"] for epoch in final["epochs"]] == [1, 2]


def test_follow_on_a_terminal_draws_rows_and_a_bar(context: Context) -> None:
    with _Trainer(context, "finished"):
        output, code = on_a_terminal(["run", "--preset", "tiny", "--follow"])
    assert code == 0, output
    assert "time left" in output
    assert "step 8/8" in output
    assert "finished after epoch 2" in output


def test_ctrl_c_leaves_the_run_alone(context: Context) -> None:
    output, code = on_a_terminal(
        ["run", "--preset", "tiny", "--follow"], after="No worker is running", typed=b"\x03"
    )
    assert code == 130
    assert "it continues" in output
    assert "Traceback" not in output
    assert queries.list_runs(context.engine)[0].status == "queued"


def test_follow_says_when_the_run_is_deleted(context: Context) -> None:
    def delete() -> None:
        wait_until(lambda: queries.count_runs(context.engine), seconds=60, what="the run")
        commands.delete_run(context.engine, run_id=queries.list_runs(context.engine)[0].id)

    thread = threading.Thread(target=delete)
    thread.start()
    result = ganboard("run", "--preset", "tiny", "--follow", code=1)
    thread.join()
    assert "was deleted" in result.stderr


def test_waiting_names_the_runs_ahead(context: Context) -> None:
    make_worker(context)
    document("run", "--preset", "tiny")
    assert "is waiting for 1 earlier run." in ganboard("run", "--preset", "tiny").stdout
