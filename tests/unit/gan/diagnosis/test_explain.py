"""Findings from records of runs that went well and of runs that did not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ganboard.gan.config import parse
from ganboard.gan.diagnosis import explain as module
from ganboard.gan.diagnosis.explain import explain
from ganboard.gan.diagnosis.trace import Evaluations, Finding, Floats, Trace, spans
from ganboard.gan.events import COLLAPSE, SLOW_REPLICA

EPOCHS, STEPS = 20, 100
IMPROVING = 40.0 / np.arange(1, EPOCHS + 1) + 2


def evaluations(fid: Floats, **measures: Floats) -> Evaluations:
    count = len(fid)
    return Evaluations(
        np.arange(1.0, count + 1),
        {"fid": fid, "diversity": np.full(count, 0.9), **measures},
        np.full(count, 0.12),
    )


def trace(**changes: Any) -> Trace:
    """A healthy run of 20 epochs of 100 steps, evaluated after each; `config` are settings."""
    random = np.random.default_rng(0)
    config = parse({"model": "dcgan", "epochs": EPOCHS, **changes.pop("config", {})})
    healthy = Trace(
        config=config,
        steps_per_epoch=STEPS,
        epoch=np.arange(1.0, EPOCHS + 1),
        attempt=np.ones(EPOCHS),
        seconds=2 + 0.05 * random.random(EPOCHS),
        compile_seconds=np.eye(EPOCHS)[0] * 3,
        measures={"d_real": np.full(EPOCHS, 0.65), "d_fake": np.full(EPOCHS, 0.4)},
        losses={
            "g": (0.8 + 0.05 * random.standard_normal(EPOCHS * STEPS)).astype(np.float32),
            "d": (1.3 + 0.05 * random.standard_normal(EPOCHS * STEPS)).astype(np.float32),
        },
        evaluations=evaluations(IMPROVING),
        headline="fid",
        label="FID",
    )
    return replace(healthy, **changes)


def only(found: list[Finding]) -> Finding:
    assert len(found) == 1, [finding.kind for finding in found]
    return found[0]


def test_a_healthy_run_has_no_finding_and_says_what_was_looked_at() -> None:
    found = explain(trace())
    assert found.findings == []
    assert "2,000 steps" in found.checked[0]
    assert any("20 evaluations" in sentence for sentence in found.checked)


def test_too_little_data_is_said_and_not_judged() -> None:
    few = evaluations(np.array([5.0, 50.0, 500.0]))
    short = trace(evaluations=few, epoch=np.arange(1.0, 4), seconds=np.array([1.0, 1.0, 9.0]))
    short = replace(short, attempt=np.ones(3), compile_seconds=np.zeros(3), measures={})
    found = explain(short)
    assert found.findings == []
    said = " ".join(found.checked)
    assert "3 evaluations (a trend takes 5)" in said
    assert "D's outputs: not recorded" in said


def test_collapse_is_found_where_it_begins_and_ends() -> None:
    diversity = np.full(EPOCHS, 0.9)
    diversity[11:15] = 0.2
    collapsed = trace(evaluations=evaluations(IMPROVING, diversity=diversity))
    finding = only(explain(collapsed).findings)
    assert (finding.kind, finding.first, finding.last) == ("collapse", 12, 15)
    assert "20%" in finding.evidence
    assert finding.remedy == {"beta_1": 0.5}
    calm = replace(collapsed, config=parse({"model": "dcgan", "beta_1": 0.5}))
    assert only(explain(calm).findings).remedy == {"g_learning_rate": 5e-5}


def test_an_untrained_generator_and_a_single_evaluation_are_no_collapse() -> None:
    diversity = np.full(EPOCHS, 0.9)
    diversity[:4] = 0.1
    diversity[9] = 0.1
    assert not explain(trace(evaluations=evaluations(IMPROVING, diversity=diversity))).findings


def test_a_generator_that_never_varied_has_collapsed_where_the_trainer_warned() -> None:
    diversity = np.full(EPOCHS, 0.05)
    collapsed = trace(
        evaluations=evaluations(IMPROVING, diversity=diversity),
        warnings=((3.0, f"{COLLAPSE}few kinds. Clone the run and lower the rate."),),
    )
    finding = only(explain(collapsed).findings)
    assert (finding.first, finding.last) == (3, 20)


def test_a_class_that_takes_all_images_is_a_collapse_unless_real_images_are_like_that() -> None:
    largest = np.full(EPOCHS, 0.12)
    largest[10:] = 0.7
    found = evaluations(IMPROVING)
    unbalanced = trace(evaluations=replace(found, largest_class=largest))
    assert "70% of them belong to one class" in only(explain(unbalanced).findings).evidence
    assert not explain(replace(unbalanced, commonest=0.7)).findings


def test_warnings_of_the_trainer_are_findings_where_nothing_was_evaluated() -> None:
    warnings = (
        (3.0, f"{COLLAPSE}the images of G after epoch 3 are too similar."),
        (4.0, f"Replica 1 of 2, counted from 0,{SLOW_REPLICA}its median step took 9 ms."),
        (5.0, "Something else."),
    )
    empty = evaluations(np.empty(0))
    found = explain(trace(evaluations=empty, warnings=warnings)).findings
    assert [(one.kind, one.first) for one in found] == [("collapse", 3), ("straggler", 4)]


@pytest.mark.parametrize(("loss", "found"), [("non_saturating", 1), ("hinge", 0)])
def test_a_discriminator_that_is_always_right(loss: str, found: int) -> None:
    real, fake = np.full(EPOCHS, 0.65), np.full(EPOCHS, 0.4)
    real[5:9], fake[5:9] = 0.99, 0.01
    won = trace(measures={"d_real": real, "d_fake": fake}, config={"loss": loss})
    findings = explain(won).findings
    assert len(findings) == found
    for finding in findings:
        assert (finding.kind, finding.first, finding.last) == ("discriminator", 6, 9)
        assert finding.remedy == {"d_learning_rate": 2.5e-5}


def test_the_first_step_that_is_not_finite() -> None:
    losses = dict(trace().losses)
    losses["g"] = losses["g"].copy()
    losses["g"][1_234:] = np.nan
    finding = only(explain(trace(losses=losses)).findings)
    assert finding.kind == "not_finite"
    assert finding.first == pytest.approx(12.35)
    assert "step 35 of epoch 13" in finding.evidence
    assert finding.remedy == {"g_learning_rate": 5e-5, "d_learning_rate": 5e-5}
    half = explain(trace(losses=losses, config={"precision": "mixed_float16"}))
    assert only(half.findings).remedy == {"precision": "mixed_bfloat16"}


def test_spikes_are_counted_and_the_start_is_not_one() -> None:
    losses = {net: values.copy() for net, values in trace().losses.items()}
    losses["g"][3] = 50
    losses["d"][700:702] = 9
    losses["g"][1_500] = 30
    finding = only(explain(trace(losses=losses)).findings)
    assert finding.kind == "spikes"
    assert (finding.first, finding.last) == (pytest.approx(7.01), pytest.approx(15.01))
    assert finding.evidence.startswith("2 spikes")
    assert "G loss 30 at step 1 of epoch 16" in finding.evidence
    assert finding.remedy == {"clip_norm": 1.0}


def test_a_constant_loss_has_no_spikes() -> None:
    constant = np.full(EPOCHS * STEPS, 0.5, dtype=np.float32)
    assert not explain(trace(losses={"g": constant, "d": constant})).findings


def test_the_best_evaluation_long_before_the_end() -> None:
    fid = np.concatenate([np.linspace(20, 5, 10), np.linspace(6, 15, 10)])
    finding = only(explain(trace(evaluations=evaluations(fid))).findings)
    assert (finding.kind, finding.first, finding.last) == ("declined", 10, 20)
    assert "FID was 5 after epoch 10" in finding.evidence
    assert finding.remedy["schedule"] == "cosine_restart"


def test_a_plateau_offers_what_the_run_has_not_tried() -> None:
    wave = 0.1 * np.cos(np.arange(EPOCHS))
    fid = np.where(np.arange(EPOCHS) < 3, 20.0, 5.0) + wave
    flat = trace(evaluations=evaluations(fid))
    finding = only(explain(flat).findings)
    assert finding.kind == "plateau"
    falling = {"model": "dcgan", "epochs": EPOCHS, "schedule": "cosine_restart"}
    averaged = replace(flat, config=parse(falling))
    assert only(explain(averaged).findings).remedy == {"ema": 0.999}


def test_slow_epochs_and_restarts() -> None:
    seconds, attempt = trace().seconds.copy(), np.ones(EPOCHS)
    seconds[6:8] = 7
    attempt[12:] = 3
    found = explain(trace(seconds=seconds, attempt=attempt)).findings
    assert [(one.kind, one.first, one.last) for one in found] == [
        ("slow_epochs", 7, 8),
        ("restarts", 13, 13),
    ]
    assert "3 attempts" in found[1].evidence


def test_skipped_updates() -> None:
    skipped = np.zeros(EPOCHS)
    skipped[[2, 4]] = 50
    found = explain(trace(measures={"skipped_steps": skipped})).findings
    assert (only(found).kind, only(found).first, only(found).last) == ("overflow", 3, 5)


def test_clipping_is_not_offered_to_a_run_that_clips() -> None:
    losses = {net: values.copy() for net, values in trace().losses.items()}
    losses["g"][1_500] = 30
    finding = only(explain(trace(losses=losses)).findings)
    assert finding.remedy
    clipped = trace(losses=losses, config={"clip_norm": 2.0})
    assert only(explain(clipped).findings).remedy == {}


def test_a_remedy_that_the_configuration_refuses_is_not_offered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def detect(_: Trace) -> list[Finding]:
        return [
            Finding("plateau", 1, 2, "Flat.", "Try this.", {"epochs": 0}),
            Finding("plateau", 3, 4, "Flat.", "Try this.", {"epochs": 5}),
        ]

    monkeypatch.setattr(module, "DETECTORS", (detect,))
    refused, offered = explain(trace()).findings
    assert (refused.remedy, refused.advice) == ({}, "Try this.")
    assert offered.remedy == {"epochs": 5}


@pytest.mark.parametrize(
    ("flags", "least", "found"),
    [("", 1, []), ("110111", 1, [(0, 1), (3, 5)]), ("110111", 3, [(3, 5)]), ("000", 1, [])],
)
def test_spans(flags: str, least: int, found: list[tuple[int, int]]) -> None:
    assert spans(np.array([flag == "1" for flag in flags], dtype=bool), least) == found
