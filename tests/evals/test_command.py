"""`treadle eval`, from its arguments to its reports."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from treadle._cli.main import main

TASKS = [
    {"id": "sum", "kind": "single", "question": "1+1?", "tools": ["calculator"], "check": {"answer_contains": 2}},
    {
        "id": "hi",
        "kind": "none",
        "question": "hi",
        "tools": ["calculator"],
        "check": {"answer_contains": "hello"},
        "split": "held",
    },
]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("TREADLE_CONFIG", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TREADLE_MODEL", raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)
    Path("tasks.jsonl").write_text("\n".join(map(json.dumps, TASKS)))
    Path("script.json").write_text(
        '{"script": [{"name": "calculator", "args": {"expression": "1+1"}}, "It is 2."], "repeat_last": true}'
    )
    logger = logging.getLogger("treadle")
    before = logger.propagate, list(logger.handlers)
    yield tmp_path
    logger.propagate, logger.handlers[:] = before


def test_a_whole_evaluation(work: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["eval", "tasks.jsonl", "-m", "scripted:script.json", "--out", "out"]) == 0
    out, err = capsys.readouterr()
    assert "scripted:script.json: 1/2 = 50 % (9 to 91) of tasks solved" in out
    assert "1/2 ok   sum" in err
    assert "2/2 FAIL hi" in err
    results = [json.loads(line) for line in Path("out/results.jsonl").read_text().splitlines()]
    assert [(result["task"], result["passed"]) for result in results] == [("sum", True), ("hi", False)]
    for name in ("report.md", "report.html"):
        text = Path("out", name).read_text("utf-8")
        assert results[0]["run_id"] in text
    assert main(["runs", "show", results[0]["run_id"]]) == 0
    assert "It is 2." in capsys.readouterr().out


def test_dialects_are_compared_and_a_bar_can_be_set(work: Path, capsys: pytest.CaptureFixture[str]):
    Path("script.json").write_text('{"script": ["{\\"answer\\": \\"hello 2\\"}"], "repeat_last": true}')
    arguments = [
        "eval",
        "tasks.jsonl",
        "-m",
        "scripted:script.json",
        "-d",
        "json",
        "-d",
        "schema",
        "--repeats",
        "2",
        "--journal",
        "none",
    ]
    assert main([*arguments, "--set", "max_iterations=2", "--min", "90", "-q"]) == 0
    out, err = capsys.readouterr()
    assert not err
    assert "scripted:script.json json: 2/2 = 100 %" in out
    assert "scripted:script.json schema: 2/2 = 100 %" in out
    Path("script.json").write_text('{"script": ["hello"], "repeat_last": true}')
    assert main([*arguments, "--min", "90", "-q"]) == 1


def test_which_tasks(work: Path, capsys: pytest.CaptureFixture[str]):
    Path("script.json").write_text('{"script": ["hello"], "repeat_last": true}')
    assert (
        main(["eval", "tasks.jsonl", "-m", "scripted:script.json", "--split", "held", "-q", "--journal", "none"]) == 0
    )
    assert "1/1 = 100 %" in capsys.readouterr().out
    assert main(["eval", "tasks.jsonl", "-m", "scripted:script.json", "--kind", "chain"]) == 2
    assert "no task is left" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.jsonl", "-m", "scripted:script.json"], "cannot be read"),
        (["tasks.jsonl", "-m", "scripted:gone.json"], "cannot be read"),
        (
            ["tasks.jsonl", "-m", "scripted:script.json", "--set", "tempreature=1", "--journal", "none"],
            "did you mean 'temperature'",
        ),
        (["tasks.jsonl", "-m", "scripted:script.json", "--limit", "0"], "not at least 1"),
        (["tasks.jsonl", "-m", "scripted:script.json", "-d", "klingon", "--journal", "none"], "unknown dialect"),
    ],
)
def test_bad_input(work: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str):
    assert main(["eval", *arguments]) == 2
    assert said in capsys.readouterr().err
