"""Exit codes and messages that scripts rely on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.terminal import Inside, call, script


@pytest.mark.parametrize(
    ("replies", "options", "code", "says"),
    [
        pytest.param([{"error": "no such model", "status": 404}], (), 1, "no such model", id="error"),
        pytest.param(
            [call("calculator", expression="1"), "one"],
            ("--max-iterations", "1"),
            3,
            "no answer after 1 iteration",
            id="limit",
        ),
        pytest.param([call("calculator", expression="1")], ("--set", "budget.requests=1"), 3, "budget", id="budget"),
        pytest.param(
            [call("erase", path="x"), "gone"], ("--tools", "mytools:erase"), 4, "treadle runs approve", id="paused"
        ),
        pytest.param(["hi"], ("--set", "colour=red"), 2, "unknown setting 'colour'", id="unknown-setting"),
        pytest.param(["hi"], ("--set", "temperature"), 2, "name=value", id="bad-set"),
        pytest.param(["hi"], ("--set", "max_iterations=many"), 2, "wrong value", id="bad-value"),
        pytest.param(["hi"], ("--max-cost", "1"), 2, "prices", id="no-price"),
        pytest.param(["hi"], ("--max-cost", "-1"), 2, "not a number above 0", id="bad-cost"),
        pytest.param(["hi"], ("--tools", "calculater"), 2, "did you mean 'calculator'", id="unknown-tool"),
        pytest.param(["hi"], ("--tools", "nothing:here"), 2, "module:name", id="unknown-module"),
        pytest.param(
            ["hi"],
            ("--tools", "mytools:missing"),
            2,
            "its tools are: erase, gate, hostile, pay, stuck, visit",
            id="unknown-name",
        ),
        pytest.param(["hi"], ("--tools", "missing.py:x"), 2, "there is no file", id="no-file"),
        pytest.param(["hi"], ("--tools", "folder=x"), 2, "before any tool", id="stray-parameter"),
        pytest.param(["hi"], ("--preset", "wild"), 2, "invalid choice", id="unknown-preset"),
        pytest.param(["hi"], ("-f", "missing.yaml"), 2, "missing.yaml", id="no-document"),
        pytest.param(["hi"], ("--journal", "/proc/nowhere/x.db"), 2, "journal", id="no-journal"),
    ],
)
def test_exit_codes(home: Path, inside: Inside, replies: list[Any], options: tuple[str, ...], code: int, says: str):
    done = inside("run", "question", "--model", script(home, *replies, repeat_last=True), *options)
    assert (done.code, says in done.err) == (code, True), done.err
    assert "Traceback" not in done.err
