"""A flow continued from its own frames, by networks whose answers are known."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ganboard.gan.config import ConfigError, parse
from ganboard.gan.data import DatasetError
from ganboard.gan.models.pix2pix import rendering
from ganboard.gan.models.pix2pix.flow import frames
from ganboard.gan.models.pix2pix.flow.frames import Frames
from ganboard.gan.models.pix2pix.flow.obstacle import Obstacle
from ganboard.gan.models.pix2pix.flow.recording import Case, Recording
from ganboard.gan.models.pix2pix.prediction import prediction_request, rollout
from ganboard.gan.models.pix2pix.prediction.prediction_request import PredictionRequest
from ganboard.gan.models.pix2pix.prediction.tiles import TilingError

FLOWS = (
    Case(Obstacle("circle", 6), 60),
    Case(Obstacle("circle", 6), 80, held_out=True),
    Case(Obstacle("rectangle", 6), 60, held_out=True),
    Case(Obstacle("circle", 6), 90, held_out=True),
)
CONFIG = parse(
    {"model": "pix2pix", "dataset": "flow", "images_path": "street", "geometry": "64x64"}
)


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Frames:
    """Twelve frames of each flow, 128x64 cells."""
    folder = tmp_path_factory.mktemp("data") / "street"
    frames.write(folder, Recording(FLOWS, (128, 64), frames=12, discard=300, every=20))
    return Frames(folder)


def oracle(street: Frames, history: int = 1) -> rollout.Predict:
    """Answers with the real next frame of those that it is asked about, which must be real to the
    bit."""
    known = {
        street.conditioned(number, t, history).tobytes(): street.frame(number, t + 1)
        for number in range(len(FLOWS))
        for t in range(history - 1, street.manifest.frames - 1)
    }
    return lambda asked: known[asked.tobytes()]


def test_every_answer_is_the_next_question_and_the_solid_stays_as_it_is(street: Frames) -> None:
    asked: list[Any] = []

    def more(given: Any) -> Any:
        asked.append(given)
        return given[..., :3] + np.float32(0.125)

    solid = street.mask(0)
    made = rollout.roll(more, street.until(0, 0), solid, 3)
    assert made.shape == (4, 64, 128, 3)
    for step, given in enumerate(asked):
        np.testing.assert_array_equal(given[..., :3], made[step])
        np.testing.assert_array_equal(given[..., 3], solid)
    np.testing.assert_array_equal(made[3][~solid], made[0][~solid] + np.float32(0.375))
    assert (made[1:, solid] == (-1, 0, 0)).all()


def test_who_knows_the_flow_makes_no_error(street: Frames) -> None:
    made = rollout.roll(oracle(street), street.until(1, 0), street.mask(1), 8)
    found = rollout.evaluate(made, street, 1)
    assert found["l1"] == found["rms"] == [0.0] * 8
    assert found["horizon"] == 8
    mean = np.mean([street.frame(1, t) for t in range(12)], axis=0)
    assert found["mean_rms"][7] == pytest.approx(
        np.sqrt(np.mean((mean - street.frame(1, 8)) ** 2)), rel=1e-4
    )
    assert found["divergence"] == found["real_divergence"]
    assert found["wake_mean_rms"] == found["wake_fluctuation_rms"] == 0
    assert (found["amplitude"], found["kind"]) == (
        found["real_amplitude"],
        "held-out Reynolds number",
    )


def test_a_history_is_given_and_kept_up(street: Frames) -> None:
    knowing = oracle(street, history=3)
    made = rollout.roll(knowing, street.until(1, 2, 3), street.mask(1), 8)
    np.testing.assert_array_equal(made[0], street.frame(1, 2))
    found = rollout.evaluate(made, street, 1, first=2)
    assert found["l1"] == [0.0] * 8
    assert found["first"] == 2
    assert set(rollout.gap(knowing, street, history=3).values()) == {0.0}
    with pytest.raises(DatasetError, match=r"steps=10 needs 13 frames .* ask for 9 or fewer"):
        prediction_request.check(
            PredictionRequest(steps=10), CONFIG.model_copy(update={"history": 3}), street
        )


def test_who_holds_the_frame_makes_the_error_of_persistence(street: Frames) -> None:
    real = np.stack([street.frame(0, t) for t in range(12)])
    made = rollout.roll(lambda given: given[..., :3], street.until(0, 0), street.mask(0), 11)
    found = rollout.errors(made, real, real[0])
    np.testing.assert_array_equal(found.l1, found.held_l1)
    np.testing.assert_array_equal(found.rms, found.held_rms)
    assert (found.l1 > 0).all()


def test_errors_on_paper() -> None:
    real, made = np.zeros((3, 1, 2, 3), np.float32), np.zeros((3, 1, 2, 3), np.float32)
    real[1:, 0, 0, 0] = 3, 6
    made[1:, 0, 0, 0] = 3, 0
    found = rollout.errors(made, real, real.mean(axis=0))
    np.testing.assert_allclose(found.l1, [0, 1])
    np.testing.assert_allclose(found.rms, [0, np.sqrt(6)])
    np.testing.assert_allclose(found.held_rms, [np.sqrt(1.5), np.sqrt(6)])
    np.testing.assert_allclose(found.mean_rms, [0, np.sqrt(1.5)])  # the mean over time is 3
    assert rollout.horizon(found._replace(mean_rms=np.array([1.0, 1.0]))) == 1
    assert rollout.horizon(found._replace(mean_rms=np.array([1.0, 9.0]))) == 2


@pytest.mark.parametrize(
    ("frequency", "shift"), [(0.05, 0.0), (0.05, 0.2), (0.052, 0.0), (0.049, -0.1)]
)
def test_the_lead_of_an_oscillation_is_given_in_periods(frequency: float, shift: float) -> None:
    t = np.arange(120)
    real, made = np.sin(2 * np.pi * 0.05 * t), 0.3 * np.sin(2 * np.pi * (frequency * t + shift)) + 2
    assert rollout.lead(made, real) == pytest.approx((frequency - 0.05) * 119 + shift, abs=0.03)


def test_a_prediction_that_is_not_finite_names_the_step(street: Frames) -> None:
    answers = iter([0.0, 0.0, np.nan])
    with pytest.raises(DatasetError, match="became infinite or NaN in step 3: ask for 2 steps"):
        rollout.roll(
            lambda given: given[..., :3] + np.float32(next(answers)),
            street.until(0, 0),
            street.mask(0),
            9,
        )


def test_the_gap_is_given_for_each_kind_of_flow(street: Frames) -> None:
    found = rollout.gap(lambda given: given[..., :3], street)
    assert list(found) == ["training", "held-out Reynolds number", "held-out shape"]
    between = [np.abs(street.frame(0, t + 1) - street.frame(0, t)).mean() for t in range(11)]
    assert found["training"] == pytest.approx(np.mean(between))
    on_progress: list[None] = []
    rollout.gap(lambda given: given[..., :3], street, on_progress=lambda: on_progress.append(None))
    assert len(on_progress) == 11 + rollout.PAIRS


def test_one_flow_of_each_kind_is_chosen(street: Frames) -> None:
    assert prediction_request.check(PredictionRequest(steps=5), CONFIG, street) == [0, 1, 2]
    assert prediction_request.check(
        PredictionRequest(steps=11, sequences=(3, 0)), CONFIG, street
    ) == [3, 0]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (PredictionRequest(steps=12), "holds 12 of each: ask for 11 or fewer, or record more"),
        (
            PredictionRequest(steps=5, sequences=(4,)),
            "There is no sequence 4 in .*: choose one of 0 to 3",
        ),
        (
            PredictionRequest(steps=5, halo=8),
            "64x64 pixels with halo=8 does not tile a frame of 64x128: choose a halo of 0 or 16",
        ),
        (PredictionRequest(steps=5, halo=32), "with halo=32 does not tile"),
    ],
)
def test_what_cannot_be_predicted(street: Frames, asked: PredictionRequest, sentence: str) -> None:
    with pytest.raises(DatasetError, match=sentence):
        prediction_request.check(asked, CONFIG, street)


def test_a_frame_that_no_halo_tiles(street: Frames) -> None:
    with pytest.raises(
        TilingError,
        match=(
            "halo=0 does not tile a frame of 64x128: take frames whose sides are multiples of 256"
        ),
    ):
        prediction_request.check(
            PredictionRequest(steps=5), CONFIG.model_copy(update={"geometry": "256x256"}), street
        )


@pytest.mark.parametrize("asked", [{"steps": 0}, {"group": -1}, {"replicas": 65}, {"halo": -1}])
def test_numbers_without_meaning(asked: dict[str, int]) -> None:
    ((name, value),) = asked.items()
    with pytest.raises(ConfigError, match=f"^{name}={value} is invalid: input should be"):
        prediction_request.parse(asked)


def test_the_picture_has_real_frames_above_predicted_ones() -> None:
    real, made = np.zeros((2, 8, 16, 3), np.float32), np.zeros((2, 8, 16, 3), np.float32)
    real[..., 2], made[..., 2] = 1, -1
    strip = rendering.Strip("a flow", real, made, np.zeros((8, 16), bool))
    pixels = np.asarray(
        Image.open(io.BytesIO(rendering.sheet([strip, strip], ["step 0", "step 9"])))
    )
    assert pixels.shape == (14 + 2 * (14 + 2 * 10), 2 * 18 - 2, 3)
    for top in (28, 28 + 34):
        assert (pixels[top : top + 8, 18:34] == (202, 0, 32)).all()
        assert (pixels[top + 10 : top + 18, :16] == (5, 113, 176)).all()
