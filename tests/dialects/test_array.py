"""`array`: a list of calls, one of which may complete the task."""

from __future__ import annotations

from dialects.samples import ARGS, CALL, NOW, OWN_ANSWER, OWN_CALL, TOOLS, decode, executable, fits
from treadle._dialects.base import Prompts
from treadle._dialects.registry import get_dialect
from treadle._types.profile import Profile
from treadle._types.request import Reply

SCHEMA = Profile(json_schema=True)


def test_array_is_wrapped_where_the_root_must_be_an_object():
    encoding = get_dialect("array").encode(TOOLS, SCHEMA)
    assert fits(encoding, f'{{"calls": {OWN_CALL["array"]}}}')
    assert decode("array", f'{{"calls": {OWN_CALL["array"]}}}').calls
    assert decode("array", f'{{"calls": {OWN_ANSWER["array"]}}}').answer == "Paris"
    assert get_dialect("array").encode(TOOLS, Profile(json_mode=True)).format is None


def test_array_completion():
    assert decode("array", '[{"name": "__complete_task__", "arguments": {}}]').answer == ""
    assert decode("array", '[{"name": "__complete_task__"}]').answer == ""
    assert decode("array", '[{"name": "__complete_task__", "arguments": "Paris"}]').answer == "Paris"
    completion = '{"name": "__complete_task__", "arguments": {"answer": "soon"}}'
    both = decode("array", f'[{completion}, {{"name": "search", "arguments": {ARGS}}}]')
    assert executable(both) == CALL
    assert both.answer == "soon"
    assert [call.id for call in both.calls] == ["call_0"]
    own = get_dialect("array", completion="done")
    assert own.decode(Reply('[{"name": "done", "arguments": {"answer": "Paris"}}]'), TOOLS).answer == "Paris"
    assert "done" in own.system("", TOOLS, Prompts())
    assert "done" in own.reformat("bad", Prompts())


def test_array_says_what_it_expected():
    assert "array" in decode("array", '{"city": "Paris"}').problem
    assert "no JSON" in decode("array", "Paris").problem


def test_ids_are_made_in_order():
    calls = decode("array", '[{"name": "now", "arguments": {}}, {"name": "now", "arguments": {}}]').calls
    assert [call.id for call in calls] == ["call_0", "call_1"]
    assert TOOLS[2] is NOW
