"""What a tool learns of the run it serves."""

from __future__ import annotations

from engine.executions import execution
from treadle._engine.acting.call_context import CallContext
from treadle._types.events import Record, ToolOutput


def test_it_names_run_and_call_and_a_key_that_is_the_same_for_every_attempt():
    run = execution(run_id="r7")
    context = CallContext(run, "c1", "add")
    assert (context.run_id, context.call_id, context.idempotency_key) == ("r7", "c1", "r7:c1")
    assert CallContext(run, "c1", "add").idempotency_key == context.idempotency_key
    assert context.run is run.context


def test_output_is_shown_as_it_comes():
    run, seen = execution(), list[Record]()
    run.log.subscribe(seen.append)
    CallContext(run, "c1", "add").output("half")
    assert [record.event for record in seen] == [ToolOutput("c1", "add", "half")]


def test_what_a_call_says_before_it_is_adopted_is_held_back():
    run, seen = execution(), list[Record]()
    run.log.subscribe(seen.append)
    context = CallContext(run, "", "add")
    context.output("early")
    assert seen == []
    context.adopt("c9")
    context.output("late")
    context.adopt("c9")
    assert [record.event for record in seen] == [ToolOutput("c9", "add", "early"), ToolOutput("c9", "add", "late")]
