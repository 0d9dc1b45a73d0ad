"""Events that are drawn alone, with the words that every surface shows."""

from __future__ import annotations

import pytest

from treadle._types import events as ev
from treadle._types.intent import intent_of
from treadle._types.request import ToolSchema
from treadle._view.items import Notice
from treadle._view.notices import ALONE


@pytest.mark.parametrize(
    ("event", "level", "line"),
    [
        (ev.ModelSwitched("b", "a", "busy"), "warning", "switched from a to b: busy"),
        (ev.DialectDemoted("json", "native", "unreadable"), "warning", "switched to the dialect json: unreadable"),
        (ev.ToolsChanged((ToolSchema("add", "", {}),), "selected"), "note", "tools now: add (selected)"),
        (ev.Observed(1, False, True, "it loops"), "note", "observer: it loops"),
        (ev.Observed(1, True, False, "fine"), "quiet", "observer: fine"),
        (ev.Reflected(1, "hm"), "note", "reflection: hm"),
        (ev.Resumed("paused"), "divider", "resumed (paused)"),
        (ev.Resumed("restarted"), "divider", "resumed after a restart"),
        (ev.Resumed("forked"), "divider", "forked"),
        (ev.PhaseChanged("handed over to billing: an invoice"), "note", "handed over to billing: an invoice"),
        (ev.PhaseChanged("background c1: helper is done"), "note", "background work: helper is done"),
        (ev.PhaseChanged("going on without tools: gone"), "note", "some tools are missing: gone"),
        (ev.PhaseChanged("executing"), "quiet", ""),
        (ev.AnswerOnly("the limit"), "quiet", ""),
        (ev.WorkspaceOpened("copy", "/w"), "note", "works in a copy: /w"),
        (ev.TreeSaved("1", "start"), "quiet", "files stored"),
        (
            ev.TreeSaved("1", "start", skipped=(".venv/ (environment)",)),
            "note",
            "files stored: not stored: .venv/ (environment)",
        ),
        (
            ev.TreeSaved("1", "after", "c", ev.TreeChanges(1, 1, 1, ("A a", "M b"))),
            "note",
            "files changed: A a, M b; and 1 more",
        ),
        (ev.TreeSaved("1", "interrupted", "c"), "warning", "changed by a call that was interrupted"),
        (ev.TreeSaved("", "after", problem="full"), "warning", "files could not be stored: full"),
        (ev.Permitted("c1", 0, "pay"), "quiet", ""),
        (
            ev.IntentSet(intent_of([{"tool": "pay", "args": {"to": {"is": ["Bob"]}, "note": {"any": True}}}, "go"])),
            "note",
            "may be done without a question: pay (to Bob, note FREE TEXT); go (as you said)",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, ev.Event.__args__) else None,
)
def test_words(event: ev.Event, level: str, line: str):
    notice = ALONE[type(event)](event, "7")
    assert isinstance(notice, Notice)
    assert (notice.id, notice.level) == ("7", level)
    assert ": ".join(filter(None, (notice.title, notice.text))) == line


def test_facts_for_programs():
    notice = ALONE[ev.ModelSwitched](ev.ModelSwitched("b", "a", "busy"), "7")
    assert isinstance(notice, Notice)
    assert notice.fields == {"model": "b", "previous": "a", "reason": "busy"}
