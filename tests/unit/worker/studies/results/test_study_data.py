"""The runs of a study, arranged by what they vary."""

from __future__ import annotations

from ganboard.worker.context import Context
from tests.unit.worker.studies.results.study_runs import MakeRun, data, study_run


def test_families_differ_in_one_setting_alone(context: Context, make_run: MakeRun) -> None:
    for batch in (32, 64):
        study_run(make_run, batch, 10.0)
    study_run(make_run, 128, 10.0, xla=True)
    study_run(make_run, 64, 10.0, dataset="digits", limit=512)
    family = data(context).family("batch_size")
    assert family is not None
    assert list(family.cells) == [32, 64]
    assert data(context).family("precision") is None
