"""Event files of other programs, read in as runs; damaged and hostile ones."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sqlmodel import Session, select
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.histogram_pb2 import HistogramProto
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.plugins.hparams import summary_v2
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util.tensor_util import make_tensor_proto

from ganboard.db.curves import logged
from ganboard.db.errors import NotAllowed
from ganboard.db.models import Grid, Run
from ganboard.db.runs import queries
from ganboard.worker.context import Context
from ganboard.worker.foreign import event_files, storing
from ganboard.worker.foreign.event_files import BadEventFiles
from ganboard.worker.foreign.storing import Imported
from ganboard.worker.tensorboard import stored
from ganboard.worker.tensorboard.event_file import EventFile
from tests.cli import ganboard
from tests.factories import make_run, png

NOON = 1_700_000_000.0


def records(path: Path, *events: Event) -> Path:
    """An event file of these events, behind the one that every file begins with."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = RecordWriter(path.open("wb"))
    for event in (Event(wall_time=NOON, file_version="brain.Event:2"), *events):
        writer.write(event.SerializeToString())
    writer.close()
    return path


def old_style(step: int, **values: float) -> Event:
    """As torch.utils.tensorboard writes scalars."""
    summary = Summary(value=[Summary.Value(tag=k, simple_value=v) for k, v in values.items()])
    return Event(wall_time=NOON + step, step=step, summary=summary)


def read_in(context: Context, path: Path) -> list[Imported]:
    return [storing.store(context, name, "here", one) for name, one in event_files.runs(path)]


def only(context: Context, path: Path) -> Imported:
    (found,) = read_in(context, path)
    return found


def values(context: Context, run: Run, name: str) -> dict[int, float]:
    return {s: v for n, s, _, v in logged.rows(context.engine, run.id) if n == name}


def grids(context: Context, run: Run) -> dict[int, Grid]:
    with Session(context.engine) as session:
        found = session.exec(select(Grid).where(Grid.run_id == run.id)).all()
        return {grid.epoch: grid for grid in found}


def test_what_ganboard_writes_comes_back(context: Context, tmp_path: Path) -> None:
    run = make_run(context, "mine", epochs=2, steps_per_epoch=4, batch_size=32, quality_every=1)
    stored.write(context, run, tmp_path)
    found = only(context, tmp_path)
    assert found.problems == []
    back = found.run
    assert (back.name, back.status, back.external) == ("mine", "finished", True)
    assert back.config["batch_size"] == 32
    assert back.config["precision"] == "float32"
    assert (back.epoch, back.step, back.steps_per_epoch) == (2, 8, 4)
    losses = queries.step_losses(context.engine, run.id, 1)
    assert losses is not None
    assert list(values(context, back, "g_loss").values())[:4] == losses.g_losses.tolist()
    assert values(context, back, "quality/fid").keys() == {4, 8}
    assert sorted(grids(context, back)) == [0, 1, 2]
    kept = Image.open(io.BytesIO(grids(context, back)[1].png))
    assert np.array_equal(np.asarray(kept), np.asarray(Image.open(io.BytesIO(png(1)))))
    spread = logged.histograms(context.engine, back.id, "losses/g_loss")
    assert [one.step for one in spread] == [4, 8]
    assert spread[0].counts.sum() == 4


def settings(**known: float | str) -> Event:
    """As `SummaryWriter.add_hparams` writes them."""
    return Event(wall_time=NOON + 10, summary=summary_v2.hparams_pb(known, start_time_secs=NOON))


def test_settings_in_a_folder_of_their_own_are_those_of_the_run_above(
    context: Context, tmp_path: Path
) -> None:
    records(tmp_path / "events.out.tfevents.1.box", old_style(1, loss=2.0), old_style(2, loss=1.0))
    records(
        tmp_path / "1700000010.5" / "events.out.tfevents.2.box",
        settings(lr=0.5, batch=64, net="dcgan"),
        old_style(0, **{"hparam/fid": 7.5}),
    )
    run = only(context, tmp_path).run
    assert run.config.items() >= {"lr": 0.5, "batch": 64, "net": "dcgan"}.items()
    assert values(context, run, "loss") == {1: 2.0, 2: 1.0}
    assert values(context, run, "hparam/fid") == {0: 7.5}


def test_settings_of_several_trials_stay_runs_of_their_own(
    context: Context, tmp_path: Path
) -> None:
    records(tmp_path / "events.out.tfevents.1.box", old_style(1, loss=2.0))
    for lr in (0.5, 0.25):
        place = tmp_path / str(lr) / f"events.out.tfevents.{lr}.box"
        records(place, settings(lr=lr), old_style(0, **{"hparam/fid": 7.5 * lr}))
    assert len(read_in(context, tmp_path)) == 3


def test_a_run_is_imported_once(context: Context, tmp_path: Path) -> None:
    records(tmp_path / "events.out.tfevents.1.box", old_style(1, loss=1.0))
    run = only(context, tmp_path).run
    with pytest.raises(NotAllowed, match=f"Run {run.id} already exists"):
        only(context, tmp_path)


def test_pytorch_s_files(context: Context, tmp_path: Path) -> None:
    """Scalars, histograms and images in the older form, PNGs of several tags at one step."""
    histogram = HistogramProto(
        min=-1, max=3, num=4, sum=4, sum_squares=10,
        bucket_limit=[0.0, 1.0, 1e308], bucket=[1.0, 1.0, 2.0],
    )  # fmt: skip
    picture = Summary.Image(height=112, width=112, colorspace=1, encoded_image_string=png(1))
    jpeg = io.BytesIO()
    Image.new("RGB", (60, 40), "red").save(jpeg, "JPEG")
    other = Summary.Image(height=40, width=60, encoded_image_string=jpeg.getvalue())
    summary = Summary(
        value=[
            Summary.Value(tag="weights", histo=histogram),
            Summary.Value(tag="a", image=picture),
            Summary.Value(tag="b", image=other),
        ]
    )
    records(
        tmp_path / "run1" / "events.out.tfevents.1700000000.box.123.0",
        old_style(0, d_loss=1.5, g_loss=float("nan")),
        Event(wall_time=NOON + 7, step=7, summary=summary),
        old_style(9, d_loss=1.25),
    )
    found = only(context, tmp_path)
    run = found.run
    assert found.problems == []
    assert run.name == "run1"
    assert run.hardware == {"host": "box"}
    assert "None" not in ganboard("show", run.id).stdout
    assert (run.step, run.d_loss, run.steps_per_epoch) == (9, 1.25, None)
    assert np.isnan(values(context, run, "g_loss")[0])
    assert run.ended_at is not None
    assert run.ended_at.timestamp() == NOON + 9
    (spread,) = logged.histograms(context.engine, run.id, "weights")
    assert spread.edges.tolist() == [-1, 0, 1, 3]
    assert spread.counts.tolist() == [1, 1, 2]
    grid = grids(context, run)[7]
    assert (grid.rows, grid.columns) == (1, 2)
    assert Image.open(io.BytesIO(grid.png)).size == (224, 112)


def test_each_folder_is_a_run(context: Context, tmp_path: Path) -> None:
    """As Keras writes them: training and validation apart; a folder without data is no run."""
    records(tmp_path / "logs/train/events.out.tfevents.1.box.v2", old_style(0, epoch_loss=1.0))
    records(tmp_path / "logs/validation/events.out.tfevents.2.box.v2", old_style(1, epoch_loss=2))
    records(tmp_path / "logs/empty/events.out.tfevents.3.box.v2")
    runs = [one.run for one in read_in(context, tmp_path / "logs")]
    assert [run.name for run in runs] == ["train", "validation"]


def test_what_was_trained_again_counts_once(context: Context, tmp_path: Path) -> None:
    restart = Event(wall_time=NOON + 3, step=2, session_log=SessionLog(status=SessionLog.START))
    steps = [old_style(step, loss=step) for step in (1, 2, 3)]
    again = old_style(2, loss=20)
    records(tmp_path / "events.out.tfevents.1.box", *steps, restart, again)
    assert values(context, only(context, tmp_path).run, "loss") == {1: 1, 2: 20}


def test_other_kinds_of_data_are_named(context: Context, tmp_path: Path) -> None:
    about = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="pr_curves"))
    curve = Summary.Value(tag="pr", metadata=about, tensor=make_tensor_proto(1.0))
    records(
        tmp_path / "events.out.tfevents.1.box",
        Event(wall_time=NOON, step=1, summary=Summary(value=[curve])),
        Event(wall_time=NOON, graph_def=b"graph"),
        old_style(1, loss=1),
    )
    (problem,) = only(context, tmp_path).problems
    assert "graphs, pr_curves" in problem


def cut(data: bytes) -> bytes:
    return data[:-5]


def flipped(data: bytes) -> bytes:
    return data[:-30] + bytes([data[-30] ^ 1]) + data[-29:]


def endless(data: bytes) -> bytes:
    """A record that claims to have 2^60 bytes, with the right checksum of its length."""
    buffer = io.BytesIO()
    RecordWriter(buffer).write(b"")
    header = struct.pack("<Q", 1 << 60)
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

    return data + header + struct.pack("<I", masked_crc32c(header)) + b"x"


def no_event(data: bytes) -> bytes:
    buffer = io.BytesIO()
    RecordWriter(buffer).write(b"\xff\xff\xff")
    return data + buffer.getvalue()


@pytest.mark.parametrize(("damage", "left"), [(cut, 2), (flipped, 2), (endless, 3), (no_event, 3)])
def test_a_damaged_file_is_read_up_to_the_damage(
    context: Context, tmp_path: Path, damage: Callable[[bytes], bytes], left: int
) -> None:
    steps = [old_style(step, loss=step) for step in (1, 2, 3)]
    path = records(tmp_path / "events.out.tfevents.1.box", *steps)
    path.write_bytes(damage(path.read_bytes()))
    found = only(context, tmp_path)
    assert sorted(values(context, found.run, "loss")) == list(range(1, left + 1))
    (problem,) = found.problems
    assert "what follows is left out" in problem
    warning = queries.events(context.engine, found.run.id, limit=None)
    assert problem in [event.text for event in warning]


@pytest.mark.parametrize("content", [b"", b"no records at all, but some text", b"\0" * 100])
def test_what_is_no_event_file_is_refused(context: Context, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.tfevents.1").write_bytes(content)
    with pytest.raises(BadEventFiles, match="no scalars, histograms or images"):
        (read_in(context, tmp_path))
    with pytest.raises(BadEventFiles, match="has no event files"):
        (read_in(context, tmp_path / "absent"))


def test_links_are_not_followed(context: Context, tmp_path: Path) -> None:
    secret = records(tmp_path / "secret/events.out.tfevents.1.box", old_style(1, loss=1))
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.tfevents.1").symlink_to(secret)
    (folder / "b").symlink_to(secret.parent)
    with pytest.raises(BadEventFiles, match="no plain file"):
        (read_in(context, folder))


def test_too_much_is_left_out_and_said(context: Context, tmp_path: Path) -> None:
    many = {f"tag{number:03}": 1.0 for number in range(250)}
    records(tmp_path / "events.out.tfevents.1.box", old_style(1, **many, **{"x" * 90: 1.0}))
    found = only(context, tmp_path)
    assert len(logged.names(context.engine, found.run.id)) == 200
    assert "51 tags left out" in found.problems[0]


def test_texts_and_histograms_that_are_left_out_are_said(context: Context, tmp_path: Path) -> None:
    with EventFile(tmp_path) as file:
        file.scalars({"loss": 1.0}, 1, NOON)
        for step in range(250):
            file.text("note", f"text {step}", step, NOON)
        file.histogram("w", np.array([0, np.nan, 1]), np.array([1, 1]), 1, NOON)
    found = only(context, tmp_path)
    assert "some histograms, some text" in found.problems[0]
    kept = queries.events(context.engine, found.run.id, limit=None)
    assert sum(event.text.startswith("note, step") for event in kept) == 200
    assert logged.histogram_names(context.engine, found.run.id) == []


def test_hostile_names_and_pictures(context: Context, tmp_path: Path) -> None:
    with EventFile(tmp_path) as file:
        file.settings({"name": "<script>\x1b[31m", "\x07bell": "x\x00y"}, NOON)
        file.scalars({"<img src=x>": 1.0}, 1, NOON)
        file.text("note", "\x1b]0;title\x07", 1, NOON)
        bomb = io.BytesIO()
        Image.new("1", (20_000, 4)).save(bomb, "PNG")
        file.image("bomb", bomb.getvalue(), 1, NOON)
    found = only(context, tmp_path)
    assert "\x1b" not in found.run.name
    assert all("\x1b" not in event.text for event in queries.events(context.engine, found.run.id))
    assert grids(context, found.run) == {}
    assert "1 image left out" in found.problems[0]


def test_steps_and_times_out_of_range(context: Context, tmp_path: Path) -> None:
    late = Event(wall_time=NOON, step=2**40, summary=old_style(0, loss=5).summary)
    before = Event(wall_time=NOON, step=-3, summary=old_style(0, loss=6).summary)
    records(tmp_path / "events.out.tfevents.1.box", late, before, old_style(1, loss=1))
    found = only(context, tmp_path)
    assert values(context, found.run, "loss") == {1: 1}
    assert "steps below 0" in found.problems[0]
    assert "steps above" in found.problems[1]
    timeless = Event(wall_time=float("nan"), step=2, summary=old_style(0, loss=5).summary)
    records(tmp_path / "b/events.out.tfevents.2.box", old_style(1, other=1), timeless)
    assert "no event" in only(context, tmp_path / "b").problems[0]
