"""`schema`: whether the task succeeded, and calls beside an answer."""

from __future__ import annotations

from dialects.samples import ARGS, CALL, OWN_CALL, decode, executable


def test_schema_says_whether_the_task_succeeded():
    text = '{"thought": "", "action": "final_answer", "final_answer": "No.", "task_successful": %s}'
    assert decode("schema", text % "true").task_successful is True
    assert decode("schema", text % "false").task_successful is False
    assert decode("schema", text % '"False"').task_successful is False
    assert decode("schema", '{"final_answer": "No."}').task_successful is None
    assert decode("schema", OWN_CALL["schema"]).task_successful is None


def test_schema_calls_come_before_an_answer():
    both = decode(
        "schema",
        f'{{"thought": "", "action": "search", "args": {ARGS}, "final_answer": "soon", "task_successful": true}}',
    )
    assert executable(both) == CALL
    assert both.answer == "soon"
