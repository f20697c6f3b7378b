"""Scripts of a person's own against a real dashboard: it is killed, the training goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ganboard.db.curves import logged
from ganboard.db.runs import queries
from ganboard.worker.context import open_context
from tests.polling import wait_until
from tests.processes import below
from tests.up import ganboard_up

TOKEN = "0123456789abcdef" * 3
LOOP = """
import sys, time, ganboard
run = ganboard.start("loop", {"batch_size": 4}, url=sys.argv[1], token=sys.argv[2])
print(run.id, flush=True)
step = 0
while not run.should_stop:
    step += 1
    time.sleep(0.01)
    run.log(step, g_loss=1 / step, d_loss=2.0)
run.finish("stopped", seconds=60)
print(step)
"""
KERAS = """
import sys, numpy, keras, ganboard
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
x = numpy.ones((64, 4), "float32")
with ganboard.start("plain Keras") as run:
    told = [ganboard.KerasCallback(run)]
    model.fit(x, x[:, :1], epochs=2, batch_size=8, validation_split=0.5, verbose=0, callbacks=told)
print(run.id)
"""


@pytest.mark.thorough
def test_a_dashboard_that_is_killed_loses_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GANBOARD_API_TOKEN", TOKEN)
    with ganboard_up(home, "--no-starter") as up:
        web = below(up.process, "ganboard.app.web.serve")
        context = open_context(create=False)
        command = [sys.executable, "-c", LOOP, up.url, TOKEN]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as script:
            assert script.stdout is not None
            run_id = script.stdout.readline().strip()
            wait_until(lambda: logged.names(context.engine, run_id), seconds=20)
            for one in web:
                one.kill()
            killed = queries.find_run(context.engine, run_id).step
            wait_until(
                lambda: queries.find_run(context.engine, run_id).step > killed + 1000, seconds=90
            )
            assert (
                subprocess.run(
                    [str(Path(sys.executable).with_name("ganboard")), "stop", run_id], check=False
                ).returncode
                == 0
            )
            steps = int(script.stdout.read())
        rows = [row[1] for row in logged.rows(context.engine, run_id) if row[0] == "g_loss"]
        assert rows == list(range(1, steps + 1))
        assert queries.find_run(context.engine, run_id).status == "stopped"
    assert not list(tmp_path.glob("*.jsonl"))


@pytest.mark.thorough
def test_a_keras_loop_reports_batches_and_epochs(home: Path, tmp_path: Path) -> None:
    context = open_context()
    said = subprocess.check_output([sys.executable, "-c", KERAS], cwd=tmp_path, text=True)
    run = queries.find_run(context.engine, said.strip().splitlines()[-1])
    assert (run.status, run.step, run.epoch, run.steps_per_epoch) == ("finished", 8, 2, 4)
    assert logged.names(context.engine, run.id) == ["epoch_loss", "loss", "val_loss"]
    assert len(logged.frame(context.engine, run.id, "loss")) == 8
