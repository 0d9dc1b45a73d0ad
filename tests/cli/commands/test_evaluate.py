"""`treadle eval`, from its arguments to its reports."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from cli.terminal import Inside
from kit import go
from treadle._cli.main import main
from treadle._journal import open_journal

TOOLS = """
from treadle import Tool, tool

@tool
def my_price(name: str) -> str:
    "The price of a thing."
    return name + " costs 12 EUR"

def my_stock(name: str) -> int:
    "How many there are of a thing."
    return 3

tools = [my_price, my_stock]

def make_tools() -> list[Tool]:
    count = 0

    @tool
    def my_price(name: str) -> str:
        "The price of a thing, which rises with every call."
        nonlocal count
        count += 1
        return f"{name} costs {count} EUR"

    return [my_price]
"""
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
def work(home: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("COLUMNS", "160")
    Path("tasks.jsonl").write_text("\n".join(map(json.dumps, TASKS)))
    Path("mytools.py").write_text(TOOLS)
    Path("script.json").write_text(
        '{"script": [{"name": "calculator", "args": {"expression": "1+1"}}, "It is 2."], "repeat_last": true}'
    )
    yield home
    sys.modules.pop("mytools", None)


def test_a_whole_evaluation(work: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["eval", "tasks.jsonl", "-t", "calculator", "-m", "scripted:script.json", "--out", "out"]) == 0
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
    arguments = "eval tasks.jsonl --tools calculator -m scripted:script.json -d json -d schema --repeats 2".split()
    arguments += ["--journal", "none"]
    assert main([*arguments, "--set", "max_iterations=2", "--min", "90", "-q"]) == 0
    out, err = capsys.readouterr()
    assert not err
    assert "scripted:script.json json: 2/2 = 100 %" in out
    assert "scripted:script.json schema: 2/2 = 100 %" in out
    Path("script.json").write_text('{"script": ["hello"], "repeat_last": true}')
    assert main([*arguments, "--min", "90", "-q"]) == 1


def test_which_tasks(work: Path, capsys: pytest.CaptureFixture[str]):
    Path("script.json").write_text('{"script": ["hello"], "repeat_last": true}')
    arguments = ["eval", "tasks.jsonl", "-t", "calculator", "-m", "scripted:script.json", "-q", "--journal", "none"]
    assert main([*arguments, "--split", "held"]) == 0
    assert "1/1 = 100 %" in capsys.readouterr().out
    assert main([*arguments, "--kind", "chain"]) == 2
    assert "leave no task to run; the kinds in tasks.jsonl are: single, none" in capsys.readouterr().err


PRICE = {"id": "price", "kind": "k", "question": "What does a lamp cost?", "tools": ["my_price"]}


def evaluate_price(*tools: str, task: object = PRICE, repeats: int = 1) -> int:
    """A model that asks for the price once, and then repeats what it was told."""
    Path("tasks.jsonl").write_text(json.dumps({"check": {"answer_contains": "EUR"}, **cast("dict[str, Any]", task)}))
    turn = [{"name": "my_price", "args": {"name": "lamp"}}, "It costs 12 EUR."]
    Path("script.json").write_text(json.dumps({"script": turn * repeats}))
    arguments = ["eval", "tasks.jsonl", "-m", "scripted:script.json", "--out", "out", "--repeats", str(repeats)]
    return main([*arguments, "--min", "100", *(part for spec in tools for part in ("--tools", spec))])


@pytest.mark.parametrize("spec", ["mytools:tools", "mytools:my_price", "mytools.py:tools", "mytools.py:my_price"])
def test_a_users_own_tools(work: Path, spec: str):
    assert evaluate_price(spec) == 0
    (result,) = map(json.loads, Path("out/results.jsonl").read_text().splitlines())
    assert (result["passed"], result["calls"]) == (True, ["my_price"])
    assert f"tools: {spec}" in Path("out/report.md").read_text()


def test_a_task_without_a_list_of_tools_is_offered_all_of_them(work: Path):
    task = {key: value for key, value in PRICE.items() if key != "tools"}
    assert evaluate_price("mytools:tools", "calculator", task=task) == 0
    run_id = json.loads(Path("out/results.jsonl").read_text())["run_id"]

    async def offered() -> list[str]:
        journal = open_journal(work / "state" / "journal.db")
        records = await journal.load(run_id)
        await journal.aclose()
        return [tool.name for tool in cast("Any", records[0].event).tools]

    assert go(offered()) == ["my_price", "my_stock", "calculator"]


def test_a_function_that_makes_tools_is_called_for_every_run(work: Path, capsys: pytest.CaptureFixture[str]):
    assert evaluate_price("mytools:make_tools", repeats=2) == 0
    runs = [json.loads(line)["run_id"] for line in Path("out/results.jsonl").read_text().splitlines()]
    for run_id in runs:
        capsys.readouterr()
        assert main(["runs", "show", run_id]) == 0
        assert "lamp costs 1 EUR" in capsys.readouterr().out


def test_a_tool_that_is_not_given(work: Path, capsys: pytest.CaptureFixture[str]):
    assert evaluate_price() == 2
    error = capsys.readouterr().err
    assert "tasks.jsonl: task 'price' names the tool 'my_price', but no tools were given: give it with --tools" in error
    assert evaluate_price("mytools:my_stock") == 2
    assert "'my_price', which is not among the tools given (my_stock)" in capsys.readouterr().err
    assert evaluate_price("mytools:prices") == 2
    assert "has no 'prices'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.jsonl", "-m", "scripted:script.json"], "cannot be read"),
        (["tasks.jsonl", "-t", "calculator", "-m", "scripted:gone.json"], "cannot be read"),
        (
            ["tasks.jsonl", "-t", "calculator", "-m", "scripted:script.json", "--set", "tempreature=1"],
            "did you mean 'temperature'",
        ),
        (["tasks.jsonl", "-m", "scripted:script.json", "--limit", "0"], "of at least 1"),
        (["tasks.jsonl", "-t", "calculator", "-m", "scripted:script.json", "-d", "klingon"], "unknown dialect"),
    ],
)
def test_bad_input(work: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str):
    assert main(["eval", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_why_tasks_failed_and_what_would_fix_them(work: Path, capsys: pytest.CaptureFixture[str]):
    (work / "again.json").write_text(json.dumps(["no", "no", *["It is 2, hello."] * 60]))
    command = ["eval", "tasks.jsonl", "-t", "calculator", "-m", "scripted:again.json", "--set", "temperature=0.9"]
    main(command)
    assert "which change fixes most of them: --why" in capsys.readouterr().err
    main([*command, "--why", "40", "-q"])
    out = capsys.readouterr().out
    assert "single changes that help" in out
    assert "sum: " in out
    assert "model requests" in out
