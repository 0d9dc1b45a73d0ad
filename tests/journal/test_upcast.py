"""Logs of earlier versions still load."""

from __future__ import annotations

import sqlite3
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from treadle._journal import upcast
from treadle._journal.export import import_run
from treadle._journal.memory import MemoryJournal
from treadle._journal.sqlite import SqliteJournal
from treadle._types import events as ev
from treadle._types.errors import CorruptLogError, JournalError
from treadle._types.events import SCHEMA, AnswerDone, RunStarted, ToolDone
from treadle._types.messages import UserMessage

from .logs import done

# A log as it might have been written before version 1: a tool's result was called `result`, its failure was a flag, and
# the answer was an event called `final_answer`.
OLD = [
    {"type": "run_started", "question": "How far is the moon?", "schema": 0},
    {"type": "tool_done", "call_id": "c1", "name": "search", "iteration": 1, "result": "384 400 km", "failed": False},
    {"type": "tool_done", "call_id": "c2", "name": "search", "iteration": 2, "result": "no network", "failed": True},
    {"type": "final_answer", "answer": "384 400 km"},
]


def tool_done_0(data: dict[str, Any]) -> dict[str, Any]:
    failed, content = data.pop("failed"), data.pop("result")
    return {**data, "content": content, "error": content if failed else ""}


def final_answer_0(data: dict[str, Any]) -> dict[str, Any]:
    return {"type": "answer_done", "text": data["answer"], "source": "loop"}


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(upcast.UPCASTERS, (0, "tool_done"), tool_done_0)
    monkeypatch.setitem(upcast.UPCASTERS, (0, "final_answer"), final_answer_0)


def write_old_log(path: Path) -> None:
    con = sqlite3.connect(path)
    with con:
        con.execute("INSERT INTO runs VALUES(1, 'old', '', '', '', '', '', '', 'finished', 'answer', 1.0)")
        for seq, event in enumerate(OLD):
            data = msgspec.json.encode(event)
            row = (1 << 24 | seq, 1.0 + seq, 0, zlib.crc32(data), data)
            con.execute("INSERT INTO records VALUES(?, ?, ?, ?, CAST(? AS TEXT))", row)
    con.close()


EXPECTED = [
    RunStarted("How far is the moon?", schema=0, origin="outside"),
    ToolDone("c1", "search", 1, "384 400 km"),
    ToolDone("c2", "search", 2, "no network", error="no network"),
    AnswerDone("384 400 km", "loop"),
]


@pytest.mark.usefixtures("steps")
async def test_an_old_log_loads_and_goes_on_in_the_new_shapes(tmp_path: Path):
    path = tmp_path / "journal.db"
    journal = SqliteJournal(path)
    await journal.list()
    write_old_log(path)
    assert [r.event for r in await journal.load("old")] == EXPECTED
    await journal.append([done("old", 4)])
    assert [r.event for r in await journal.load("old")] == [*EXPECTED, done("old", 4).event]
    assert [r.event for r in await journal.load("old", after=2)] == [EXPECTED[3], done("old", 4).event]
    await journal.aclose()


@pytest.mark.usefixtures("steps")
async def test_an_old_export_can_be_imported():
    lines = [{"format": "treadle-run", "schema": 0, "run": "old"}]
    lines += [{"run": "old", "seq": seq, "time": 1.0, "event": event} for seq, event in enumerate(OLD)]
    journal = MemoryJournal()
    await import_run(journal, b"\n".join(msgspec.json.encode(line) for line in lines))
    assert [r.event for r in await journal.load("old")][1 : len(EXPECTED)] == EXPECTED[1:]


async def test_without_its_upcaster_an_old_record_is_an_error_not_a_guess(tmp_path: Path):
    path = tmp_path / "journal.db"
    journal = SqliteJournal(path)
    await journal.list()
    write_old_log(path)
    with pytest.raises(CorruptLogError, match="old#1"):
        await journal.load("old")
    await journal.aclose()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("insist", "give_up_guard"),
        ("borrowed", "example_value_guard"),
        ("invented", "unsourced_value_guard"),
        ("planner", "planner"),
    ],
)
def test_a_renamed_plugin_finds_its_notes_and_messages_of_version_1_under_its_new_name(old: str, new: str):
    noted = msgspec.json.encode({"type": "noted", "component": old, "data": {"objection": "no"}})
    assert upcast.decode_stored(noted, 1) == ev.Noted(new, {"objection": "no"})
    message = {"role": "user", "content": "no", "kind": "note"}
    added = msgspec.json.encode({"type": "message_added", "message": message, "component": old})
    assert upcast.decode_stored(added, 1) == ev.MessageAdded(UserMessage("no", kind="note"), new)
    plain = upcast.decode_stored(msgspec.json.encode({"type": "message_added", "message": message}), 1)
    assert plain == ev.MessageAdded(UserMessage("no", kind="note"))


def test_a_setting_of_version_1_that_is_gone_is_read_as_what_it_did():
    old = msgspec.json.encode(
        {"type": "run_started", "question": "q", "settings": {"unknown_args": "repair", "seed": 1}}
    )
    started = upcast.decode_stored(old, 1)
    assert isinstance(started, RunStarted)
    assert started.settings == {"unknown_args": "reject", "seed": 1}


def test_each_version_is_one_step(monkeypatch: pytest.MonkeyPatch):
    for version in range(-3, SCHEMA):
        monkeypatch.setitem(
            upcast.UPCASTERS, (version, "t"), lambda data, v=version: {**data, "seen": [*data["seen"], v]}
        )
    assert upcast.upcast("t", {"type": "t", "seen": []}, -3)["seen"] == list(range(-3, SCHEMA))
    assert upcast.upcast("t", {"type": "t", "seen": []}, SCHEMA)["seen"] == []


def test_a_record_from_the_future_asks_for_an_upgrade():
    with pytest.raises(JournalError, match="newer Treadle"):
        upcast.decode_stored(b"{}", SCHEMA + 1)


def phase(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "phase", "phase": name, **({"data": data} if data else {})}


PLAN = {"id": "b", "task": "tell it", "dependencies": ["a"]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (phase("loop"), ev.LoopStarted()),
        (phase("answer_only", reason="in circles"), ev.AnswerOnly("in circles")),
        (phase("answer_only"), ev.AnswerOnly("told to answer")),
        (phase("selecting_tools", total_tools=14), ev.ToolSelectionStarted(14)),
        (phase("insist", must_act=True), ev.ReplyConstrained("give_up_guard", True)),
        (phase("borrowed", barred=["echo"]), ev.ReplyConstrained("example_value_guard", barred=("echo",))),
        (phase("invented", must_act=True), ev.ReplyConstrained("unsourced_value_guard", True)),
        (phase("a plug-in's own", must_act=True), ev.ReplyConstrained("a plug-in's own", True)),
        (phase("nudged", barred=["echo"], must_act=False), ev.ReplyConstrained("loop_guard", False, ("echo",))),
        (phase("move_on", barred=["echo"]), ev.ReplyConstrained("loop_guard", barred=("echo",))),
        (phase("mode", mode="loop"), ev.DagModeChosen("loop")),
        (phase("planning"), ev.DagPlanning()),
        (
            phase("plan", round=2, free=1, steps=[{"id": "a", "task": "find it"}, PLAN], notes=["left out"]),
            ev.DagPlanned(
                2, (ev.PlannedStep("a", "find it"), ev.PlannedStep("b", "tell it", ("a",))), ("left out",), 1
            ),
        ),
        (
            phase("verdict", round=2, achieved=True, confidence=0.9, final_answer="yes", reasoning="it is"),
            ev.DagJudged(2, True, 0.9, "yes", "it is"),
        ),
        (phase("a plug-in's own"), ev.PhaseChanged("a plug-in's own")),
        (
            {"type": "context_compacted", "covers": [7], "original_messages": 5, "reason": "taken back"},
            ev.MessageRetracted(7, "unsourced_value_guard", "the answer has no source"),
        ),
        (
            {"type": "context_compacted", "covers": [7], "summary": "long ago", "reason": "compact"},
            ev.ContextCompacted((7,), "long ago", reason="compact"),
        ),
    ],
    ids=lambda value: value.get("phase", value["type"]) if isinstance(value, dict) else type(value).__name__,
)
def test_each_meaning_of_a_phase_of_version_1_has_its_own_record(old: dict[str, Any], new: ev.Event):
    assert upcast.decode_stored(msgspec.json.encode(old), 1) == new
