"""The layers that were built beside those printed in the paper."""

from __future__ import annotations

from ganboard.db.runs import queries, reports
from ganboard.worker.context import Context
from ganboard.worker.studies.results import networks
from ganboard.worker.studies.results.study_data import NOT_HERE, REPRODUCED, StudyData
from tests.unit.worker.studies.results.study_runs import MakeRun


def test_table1_lays_built_layers_beside_the_printed_ones(
    context: Context, make_run: MakeRun
) -> None:
    run = make_run("with layers", status="running", epochs=1)
    layers = {
        "generator_layers": [*networks.GENERATOR, "Activation 28x28x1"],
        "discriminator_layers": list(networks.DISCRIMINATOR),
    }
    reports.add_facts(context.engine, run_id=run.id, attempt=run.attempt, values=layers)
    whole = StudyData(context.engine, queries.get_runs(context.engine, [run.id]), {})
    assert networks.table1(whole).verdict == REPRODUCED
    assert len(networks.table1(whole).table) == 19
    reports.add_facts(
        context.engine,
        run_id=run.id,
        attempt=run.attempt,
        values={"discriminator_layers": ["Conv2D 14x14x64"]},
    )
    other = StudyData(context.engine, queries.get_runs(context.engine, [run.id]), {})
    assert networks.table1(other).verdict == NOT_HERE
    assert "7 of 19 layers differ." in networks.table1(other).finding
