"""Structured calls: the strongest means a model has first, each reply checked, every call counted."""

from __future__ import annotations

from typing import Any

import pytest

from kit import call, go
from treadle import ScriptedModel, structured_llm_call
from treadle._engine.structured import StructuredResult
from treadle._models.transport.retry import RetryPolicy
from treadle._types.errors import (
    ConfigError,
    ContentFilteredError,
    RequestRefusedError,
    StructuredCallError,
    TransientModelError,
)
from treadle._types.messages import AssistantMessage, UserMessage
from treadle._types.request import Reply, Request
from treadle._types.usage import Usage
from virtual_time import go_virtual

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
NATIVE = {"tool_call": True, "forced_tool": True, "json_mode": False, "json_schema": False}
UNFORCED = {**NATIVE, "forced_tool": False}
JSON = {"tool_call": False, "json_mode": True, "json_schema": False}
BY_SCHEMA = {"tool_call": False, "json_mode": False, "json_schema": True}
PLAIN = {"tool_call": False, "json_mode": False, "json_schema": False}


def ask(model: ScriptedModel, **options: Any) -> StructuredResult:
    return go(structured_llm_call(model, "give n", SCHEMA, **options))


@pytest.mark.parametrize(
    ("abilities", "entry", "level"),
    [
        (NATIVE, call("reply", n=7), 1),
        (JSON, '{"n": 7}', 2),
        (BY_SCHEMA, '{"n": 7}', 2),
        (PLAIN, 'It is:\n```json\n{"n": 7}\n```', 3),
    ],
    ids=["native", "json", "schema", "plain"],
)
def test_one_call_is_enough_where_the_model_does_as_it_is_told(abilities: dict[str, bool], entry: Any, level: int):
    model = ScriptedModel([entry], abilities=abilities)
    result = ask(model)
    assert (result.value, result.raw, result.level, result.calls) == ({"n": 7}, {"n": 7}, level, 1)
    assert result.usage.requests == 1


def test_what_each_level_asks_of_the_provider():
    assert ask_first(NATIVE).tool_choice == "reply"
    assert ask_first(UNFORCED).tool_choice == "required"
    assert (ask_first(JSON).format.kind, ask_first(BY_SCHEMA).format.kind) == ("json", "schema")  # type: ignore[union-attr]
    plain = ask_first(PLAIN)
    assert plain.format is None
    assert '"required":["n"]' in str(plain.messages[-1])


def ask_first(abilities: dict[str, bool]) -> Request:
    model = ScriptedModel(["nothing"], repeat_last=True, abilities=abilities)
    ask(model, default_value=None)
    return model.requests[0]


def test_a_text_that_came_instead_of_a_native_call_is_read_too():
    assert ask(ScriptedModel(['{"n": 7}'], abilities=NATIVE)).level == 1


def test_a_reply_that_does_not_fit_is_sent_back_with_the_reason():
    model = ScriptedModel(['{"n": "seven"}', '{"n": 7}'], abilities=JSON)
    assert ask(model).calls == 2
    *_, before, correction = model.requests[1].messages
    assert before == AssistantMessage('{"n": "seven"}')
    assert isinstance(correction, UserMessage)
    assert correction.kind == "reformat"
    assert "That could not be used" in str(correction.content)
    assert "n" in str(correction.content)


@pytest.mark.parametrize("text", ["no data", "[1, 2]", '"seven"', "", "{broken"])
def test_what_is_no_object_is_not_taken(text: str):
    model = ScriptedModel([text, '{"n": 1}'], abilities=PLAIN)
    assert ask(model).calls == 2


def test_the_callers_parser_may_refuse_a_value_for_any_reason():
    def picky(raw: dict[str, Any]) -> str:
        return {7: "seven"}[raw["n"]]

    model = ScriptedModel(['{"n": 1}', '{"n": 7}'], abilities=PLAIN)
    result = ask(model, parse_fn=picky)
    assert (result.value, result.raw) == ("seven", {"n": 7})


def test_a_last_resort_is_tried_on_plain_text_only_and_checked_like_the_rest():
    tried: list[str] = []

    def digits(text: str) -> dict[str, Any] | None:
        tried.append(text)
        return {"n": int(text.split()[-1])} if text.split()[-1].isdigit() else {"n": "none"}

    model = ScriptedModel(["json mode says 3", "json mode says 4", "plain says x", "plain says 5"], abilities=JSON)
    result = ask(model, regex_fallback=digits)
    assert (result.value, result.level, result.calls) == ({"n": 5}, 3, 4)
    assert tried == ["plain says x", "plain says 5"]


def test_a_failed_call_leads_to_the_next_level_and_its_cost_counts():
    refused = RequestRefusedError("no tools here", status=400, usage=Usage(input_tokens=5, requests=1))
    model = ScriptedModel([refused, '{"n": 7}'], abilities={**NATIVE, "json_mode": True})
    result = ask(model)
    assert (result.level, result.calls) == (2, 2)
    assert result.usage.requests == 2
    assert result.usage.input_tokens > 5


def test_when_nothing_helps_the_error_says_why_and_what_was_spent():
    model = ScriptedModel([ContentFilteredError("not that")], repeat_last=True, abilities=PLAIN, name="shy")
    with pytest.raises(StructuredCallError, match=r"no readable 'city' after 1 calls of shy: .*not that") as caught:
        ask(model, name="city")
    assert caught.value.calls == 1


@pytest.mark.parametrize("default", [None, 0, "", {"n": 0}])
def test_any_default_is_better_than_an_error_also_one_that_is_nothing(default: Any):
    result = ask(ScriptedModel(["no"], repeat_last=True, abilities=PLAIN), default_value=default)
    assert (result.value, result.raw, result.level, result.calls) == (default, {}, 0, 2)


def test_a_schema_that_cannot_be_checked_is_refused_before_any_call():
    model = ScriptedModel(["x"])
    with pytest.raises(ConfigError):
        go(structured_llm_call(model, "q", {"type": "nonsense"}))
    assert model.requests == []


def test_transient_failures_are_tried_again_with_a_pause():
    busy = TransientModelError("busy", status=503, retry_after=4.0)
    model = ScriptedModel([busy, busy, '{"n": 7}'], abilities=PLAIN)
    work = structured_llm_call(model, "give n", SCHEMA, retry=RetryPolicy(attempts=3, base=0.0))
    result, seconds = go_virtual(work)
    assert (result.value, result.calls, len(model.requests)) == ({"n": 7}, 1, 3)
    assert seconds == pytest.approx(8.0)


def test_a_policy_of_one_attempt_tries_once():
    model = ScriptedModel([TransientModelError("busy")], repeat_last=True, abilities=PLAIN)
    assert ask(model, retry=RetryPolicy(attempts=1), default_value=None).calls == 1
    assert len(model.requests) == 1


def test_temperature_and_length_reach_the_model():
    model = ScriptedModel(['{"n": 7}'], abilities=PLAIN)
    ask(model, temperature=0.0, max_tokens=50)
    assert (model.requests[0].temperature, model.requests[0].max_tokens) == (0.0, 50)
    assert model.requests[0].component == "structured"


def test_a_run_may_make_the_calls_itself():
    seen: list[dict[str, Any]] = []

    async def own(messages: Any, **options: Any) -> Reply:
        seen.append(options)
        return Reply('{"n": 7}', usage=Usage(requests=1))

    model = ScriptedModel([], abilities=JSON)
    assert ask(model, ask=own).value == {"n": 7}
    assert len(seen) == 1
    assert model.requests == []


def test_a_conversation_may_be_given():
    model = ScriptedModel(['{"n": 7}'], abilities=PLAIN)
    history = [{"role": "user", "content": "I have 3"}, {"role": "assistant", "content": "ok"}, UserMessage("and 4")]
    go(structured_llm_call(model, history, SCHEMA))
    assert [getattr(m, "content", getattr(m, "text", "")) for m in model.requests[0].messages][:3] == [
        "I have 3",
        "ok",
        "and 4",
    ]


def test_whatever_an_adapter_raises_leads_down_the_levels_to_the_default():
    broken = ScriptedModel([OSError("no route")], repeat_last=True)
    result = ask(broken, default_value={"n": 0}, retry=RetryPolicy(attempts=2, base=0.0))
    assert (result.value, result.level, len(broken.requests)) == ({"n": 0}, 0, 6)
    recovering = ScriptedModel([TimeoutError(), call("reply", n=7)], abilities=NATIVE)
    assert ask(recovering, retry=RetryPolicy(attempts=2, base=0.0)).value == {"n": 7}
