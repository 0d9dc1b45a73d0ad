"""Options that several commands share."""

from __future__ import annotations

import pytest

from treadle._cli.main import main


def test_presets_and_engine_agree():
    from treadle._agent import presets
    from treadle._cli.setup.options import PRESETS

    assert set(PRESETS) == set(presets.names())


@pytest.mark.parametrize(
    "line",
    [
        "runs list -n 0",
        "runs list -n -1",
        "runs gc --keep -1",
        "runs replay x --play --speed -1",
        "runs replay x --play --speed nan",
        "runs fork x --at -1",
        "run q --max-iterations 0",
        "run q --max-cost nan",
        "serve --port 70000",
        "serve --port -1",
        "doctor --timeout 0",
        "doctor --timeout soon",
        "worker --at-once 0",
        "kb search q -k 0",
        "eval t.jsonl --timeout -5",
        "eval t.jsonl --repeats 0",
    ],
)
def test_numbers_that_cannot_be_meant_are_refused(line: str, capsys: pytest.CaptureFixture[str]):
    assert main(line.split()) == 2
    assert "is not a" in capsys.readouterr().err
