"""Response bodies about runs."""

from __future__ import annotations

import pytest

from treadle._journal import RunInfo
from treadle._server.api.views import artifacts_of, find_artifact, record_body, run_body
from treadle._server.errors import ApiError
from treadle._types import events as ev


def log(*events: ev.Event) -> list[ev.Record]:
    return [ev.Record("r", seq, 100.0 + seq, event) for seq, event in enumerate(events)]


def test_a_run_that_nobody_drives_is_idle():
    records = log(ev.RunStarted("?"), ev.ThinkStarted("loop", 1))
    assert run_body(RunInfo("r", status="idle"), records, live=False, children=[]).status == "idle"
    assert run_body(RunInfo("r", status="running"), records, live=False, children=[]).status == "running"
    assert run_body(RunInfo("r", status="idle"), records, live=True, children=[]).status == "running"


def test_a_run_that_failed_has_an_error_and_no_answer():
    records = log(ev.RunStarted("?"), ev.RunFinished("error", "Sorry.", success=False, error="HTTP 400"))
    body = run_body(RunInfo("r"), records, live=False, children=[])
    assert (body.status, body.success, body.answer, body.error) == ("finished", False, "", "HTTP 400")


def test_the_newest_artifact_of_a_name():
    def made(call_id: str, content: str) -> ev.ToolDone:
        return ev.ToolDone(call_id, "draw", 1, "drawn", artifacts=(ev.Artifact("a.svg", content, "image/svg+xml"),))

    records = log(ev.RunStarted("?"), made("c1", "old"), made("c2", "newer"))
    assert find_artifact(records, "a.svg", "").content == "newer"
    assert find_artifact(records, "a.svg", "c1").content == "old"
    assert [(body.call_id, body.size) for body in artifacts_of(records)] == [("c1", 3), ("c2", 5)]
    with pytest.raises(ApiError, match=r"there is no artifact 'b.svg' in this run"):
        find_artifact(records, "b.svg", "")


def test_long_texts_are_cut():
    body = record_body(ev.Record("r", 5, 1.0, ev.ToolDone("c", "read", 1, "x" * 30_000)))
    assert (body.seq, body.type) == (5, "tool_done")
    assert len(str(body.event)) < 25_000
    assert "10000 characters more" in str(body.event)
