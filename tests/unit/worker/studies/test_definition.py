from __future__ import annotations

from pathlib import Path

import pytest

from ganboard.gan.config import ConfigError
from ganboard.worker.context import Context
from ganboard.worker.studies import study
from ganboard.worker.studies.definition import resolve


@pytest.mark.parametrize("module", ["ganboard.gan.studies", "gan.studies"])
def test_a_file_defines_a_study_under_the_present_and_the_former_import_name(
    context: Context, tmp_path: Path, module: str
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        f"from {module} import BUDGETS, Part, Study\nSTUDY = Study('mine', 'Mine', 'Why?',"
        " BUDGETS['tiny'].settings, (Part('rates', {}, {'beta_1': (0.5, 0.9)}),))\n"
    )
    assert len(study.examine(context, resolve(str(path), "tiny", {}))) == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1 / 0", "failed with ZeroDivisionError: division by zero. Fix the file."),
        ("import sys; sys.exit(3)", "failed with SystemExit: 3. Fix the file."),
        ("def", "failed with SyntaxError"),
        (
            "from ganboard.gan.studies import *; STUDY = Study('a', 'b', 'c', {}, [5])",
            "failed with ValidationError",
        ),
        (
            (
                "from ganboard.gan.studies import *; STUDY = Study('a', 'b', 'c', {}, (),"
                " figures=('fig99',))"
            ),
            "requests the unknown figure 'fig99'. Choose from table1",
        ),
        ("STUDY = 5", "does not define STUDY. Add STUDY = Study(...)"),
        ("", "does not define STUDY"),
    ],
)
def test_files_that_define_none(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(ConfigError) as refusal:
        resolve(str(path), "tiny", {})
    assert sentence in str(refusal.value)
