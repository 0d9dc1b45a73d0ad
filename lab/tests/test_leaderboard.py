"""The leaderboard's rows through several engines: tools that only report, the leaderboard's own verdict, one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from kit import call
from lab_kit import LAB
from study import leaderboard, peer_child
from study.rows import Outcome
from training import bfcl
from treadle import ModelError, ScriptedModel
from treadle._inspect.evals.checks import RecordedCall
from treadle._inspect.evals.tasks import Task, read_task_file

WANTED = [{"city.weather": {"city": ["Turin"], "days": ["", 3]}}]


def row(category: str, number: int = 0) -> bfcl.Row:
    function = {
        "name": "city.weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "dict",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    }
    truth = None if "irrelevance" in category else WANTED
    return bfcl.Row(f"{category}_{number}", category, "", "How is the weather in Turin?", [function], truth)


def test_the_functions_of_a_row_report_and_do_nothing():
    seen: list[RecordedCall] = []
    (tool,) = peer_child.functions_of(row("simple_python"), seen.append)
    assert tool.name == "city_weather"
    assert tool.parameters["type"] == "object"
    assert tool.parameters["required"] == ["city"]
    assert tool.execute(city="Turin") == "done"
    assert seen == [RecordedCall("city_weather", {"city": "Turin"})]


def test_a_child_is_sent_tasks_and_rows_alike():
    task = read_task_file(LAB / "evals" / "shop.jsonl")[0]
    for item in (task, row("multiple")):
        assert msgspec.json.decode(msgspec.json.encode(item), type=Task | bfcl.Row) == item


def test_the_first_call_is_judged_and_ends_the_time():
    def judged(category: str, *calls: RecordedCall, **outcome: Any) -> Any:
        return leaderboard.judged("now", "m", "auto", "dev", row(category), Outcome(calls=calls, seconds=9, **outcome))

    right, wrong = (RecordedCall("city_weather", {"city": city}) for city in ("Turin", "Milan"))
    found = judged("simple_python", right, wrong, first_call=2.0)
    assert (found.passed, found.seconds, found.steps, found.calls) == (True, 2.0, 2, (right,))
    assert not judged("simple_python", wrong, right, first_call=2.0).passed
    assert not judged("irrelevance", right, first_call=2.0).passed
    failed = judged("irrelevance", stop="error", error="ValueError: no")
    assert (failed.passed, failed.seconds, failed.problems) == (False, 9, ("ValueError: no",))
    assert judged("irrelevance").passed
    assert judged("simple_python", right, first_call=2.0, error="ValueError: later").passed
    assert not judged("live_simple", stop="error", error="ValueError: no").passed


def test_a_run_continues_and_its_report_has_intervals(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    class Loaded(ScriptedModel):
        async def load(self) -> None: ...

    made: list[bool] = []

    def local_model(name: str, *, adapter: bool, keep_prompts: bool) -> Loaded:
        made.append(adapter)
        return Loaded([call("city_weather", city="Turin")], repeat_last=True)

    rows = [row("simple_python"), row("simple_python", 2), row("irrelevance")]
    asked_for: list[tuple[int, str]] = []
    monkeypatch.setattr(leaderboard, "LocalModel", local_model)
    monkeypatch.setattr(leaderboard, "chosen", lambda _, each, split: asked_for.append((each, split)) or rows)
    results = tmp_path / "rows.jsonl"
    command = ["run", "--model", "m", "--bfcl", str(tmp_path), "--who", "auto,plain", "--results", str(results)]
    leaderboard.main(command)
    assert asked_for == [(4, "dev")]
    assert made == [True, False]
    results.write_bytes(b"".join(results.read_bytes().splitlines(keepends=True)[:-1]))
    leaderboard.main(command)
    assert made == [True, False, False]
    assert len(leaderboard.load_rows(results)) == 6

    capsys.readouterr()
    leaderboard.main(["report", "--results", str(results)])
    text = capsys.readouterr().out
    assert "3 rows (dev), with 95 % intervals." in text
    for who in ("auto", "plain"):
        assert f"| {who} | 2/3 (21 to 94 %) | 2/2 | 0/0 | 0/0 | 0/0 | 0/1 | 0/0 | 0.0 | 0 | 0 |" in text
    leaderboard.main(["report", "--results", str(results), "--split", "held"])
    assert capsys.readouterr().out == "no rows\n"


def test_an_error_of_our_own_run_is_wrong_where_no_call_is_right(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    class Loaded(ScriptedModel):
        async def load(self) -> None: ...

    monkeypatch.setattr(leaderboard, "LocalModel", lambda name, **_: Loaded([ModelError("out of memory")]))
    monkeypatch.setattr(leaderboard, "chosen", lambda *_: [row("irrelevance")])
    results = tmp_path / "rows.jsonl"
    leaderboard.main(["run", "--model", "m", "--bfcl", str(tmp_path), "--who", "auto", "--results", str(results)])
    (found,) = leaderboard.load_rows(results)
    assert (found.passed, found.stop, found.problems) == (False, "error", ("ModelError: out of memory",))
    capsys.readouterr()
    leaderboard.main(["report", "--results", str(results)])
    assert "| auto | 0/1 (0 to 79 %) | 0/0 | 0/0 | 0/0 | 0/0 | 0/1 | 0/0 | 0.0 | 0 | 1 |" in capsys.readouterr().out


def test_the_report_counts_calls_that_nobody_made():
    text = Outcome('{"name": "area", "arguments": {"base": 1}}')
    late = Outcome(stop="timeout", error="stopped after 120 s", seconds=120)
    done = Outcome(calls=(RecordedCall("city_weather", {"city": "Turin"}),), error="ValueError: later", first_call=6.0)
    rows = [
        leaderboard.judged("now", "m", "langgraph", "held", row(category), outcome)
        for category, outcome in (("irrelevance", text), ("multiple", late), ("simple_python", done))
    ]
    report = leaderboard.markdown(rows, split="held", label="now")
    assert "| langgraph | 2/3 (21 to 94 %) | 1/1 | 0/1 | 0/0 | 0/0 | 1/1 | 0/0 | 42.0 | 1 | 1 |" in report


def test_rows_for_development_and_for_the_test_are_not_the_same(monkeypatch: pytest.MonkeyPatch):
    odd = [row(category, number) for category in bfcl.CATEGORIES for number in (1, 3)]
    even = [row(category, number) for category in bfcl.CATEGORIES for number in (0, 2)]
    monkeypatch.setattr(bfcl, "development", lambda folder: odd)
    monkeypatch.setattr(bfcl, "sample", lambda folder, odd, per_category: [] if odd else even)
    assert leaderboard.chosen(Path(), 1, "dev") == odd[::2]
    assert leaderboard.chosen(Path(), 2, "held") == [*even[::2], *even[1::2]]
