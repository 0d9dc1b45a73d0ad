"""Structured calls, and how the answer is written, streamed and typed."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any, TypedDict

import pytest

from kit import call, echo, go
from treadle import Agent, ScriptedModel, ToolResponse, structured_llm_call, tool
from treadle._types.errors import RequestRefusedError, StructuredCallError
from treadle._types.events import AnswerDelta, AnswerDone
from treadle._types.messages import ToolMessage, text_of

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ALL = {"tool_call": True, "json_mode": True, "json_schema": False}
JSON_ONLY = {"tool_call": False, "json_mode": True, "json_schema": False}
PLAIN = {"tool_call": False, "json_mode": False, "json_schema": False}


@pytest.mark.parametrize(("abilities", "worst"), [(ALL, 5), (JSON_ONLY, 4), (PLAIN, 2)])
def test_worst_case_number_of_calls(abilities: dict[str, bool], worst: int):
    model = ScriptedModel(["no data here"], repeat_last=True, abilities=abilities)
    with pytest.raises(StructuredCallError) as caught:
        go(structured_llm_call(model, "give n", SCHEMA))
    assert caught.value.calls == worst == len(model.requests)


def test_levels_in_order():
    model = ScriptedModel(["bad", "bad", "bad", "bad", "n is 7"], abilities=ALL)
    result = go(
        structured_llm_call(
            model,
            "give n",
            SCHEMA,
            regex_fallback=lambda t: {"n": int(m.group())} if (m := re.search(r"\d+", t)) else None,
        )
    )
    assert result.value == {"n": 7}
    assert (result.level, result.calls) == (3, 5)
    assert model.requests[0].tool_choice == "reply"
    assert model.requests[1].format is not None
    assert model.requests[3].format is None


def test_result_usage_parse_fn_and_default():
    model = ScriptedModel([call("reply", n=-1), '{"n": 5}'], abilities=ALL)

    def positive(raw: dict[str, Any]) -> int:
        if raw["n"] < 0:
            raise ValueError("negative")
        return raw["n"]

    result = go(structured_llm_call(model, "give n", SCHEMA, parse_fn=positive))
    assert (result.value, result.raw, result.level, result.calls) == (5, {"n": 5}, 2, 2)
    assert result.usage.requests == 2
    failing = ScriptedModel([RequestRefusedError("no", status=400)], repeat_last=True)
    assert go(structured_llm_call(failing, "x", SCHEMA, default_value="fallback")).value == "fallback"


@dataclasses.dataclass
class City:
    name: str
    people: int


class Row(TypedDict):
    name: str
    people: int


def test_typed_answers():
    direct = ScriptedModel(['{"name": "Paris", "people": 2}'])
    result = go(Agent(direct, [echo], output_type=City, on_error="result").run("q"))
    assert result.output == City("Paris", 2)
    assert len(direct.requests) == 1
    assert "JSON Schema" in direct.requests[0].messages[0].text
    converted = ScriptedModel(["Paris has two people", call("answer", name="Paris", people=2)])
    result = go(Agent(converted, [echo], output_type=Row).run("q"))
    assert result.output == {"name": "Paris", "people": 2}
    assert result.success
    numbers = ScriptedModel(["1 and 2", call("answer", answer=[1, 2])])
    assert go(Agent(numbers, [echo], output_type=list[int]).run("q")).output == [1, 2]
    hopeless = ScriptedModel(["never"], repeat_last=True)
    result = go(Agent(hopeless, [echo], output_type=City, on_error="result").run("q"))
    assert not result.success
    assert isinstance(result.error, StructuredCallError)
    assert result.answer == "never"


def test_synthesis_reads_question_and_trace_and_falls_back():
    long = "z" * 5000
    model = ScriptedModel([call("echo", text=long), "brief", "The answer."])
    agent = Agent(model, [echo], answer="synthesize")

    async def main() -> list[Any]:
        return [event async for event in agent.stream("the question?")]

    events = go(main())
    sent = text_of(model.requests[-1].messages[-1].content)
    assert "the question?" in sent
    assert 1900 < max(map(len, re.findall("z+", sent))) <= 2000
    assert model.requests[-1].stream
    assert "".join(e.text for e in events if isinstance(e, AnswerDelta)) == "The answer."
    broken = ScriptedModel([call("echo", text="x"), "brief", RequestRefusedError("no", status=400)])
    result = go(Agent(broken, [echo], answer="synthesize").run("q"))
    assert result.answer == result.brief == "brief"
    assert result.success


async def test_complete_and_stream_answer_on_its_own():
    model = ScriptedModel([call("echo", text="x"), "brief", "over everything", "written afterwards"])
    agent = Agent(model, [echo], answer="complete")
    result = await agent.run("q")
    assert result.answer == "over everything"
    assert any(isinstance(message, ToolMessage) for message in model.requests[2].messages)
    assert result.brief == "brief"
    assert "".join([piece async for piece in agent.stream_answer(result)]) == "written afterwards"


def text_view(agent: Agent, **options: Any) -> tuple[str, str]:
    pieces = []
    view = agent.text("q", **options)
    while True:
        try:
            pieces.append(next(view))
        except StopIteration as stop:
            return "".join(pieces), stop.value


def test_text_view_with_and_without_markers():
    def script():
        return ScriptedModel(
            ['I look it up.\nAction: {"tool": "echo", "inputs": {"text": "found"}, "final_answer": false}',
             "So: <__final_answer__>It is here.</__final_answer__>"],
            abilities={"tool_call": False}, chunk=3,
        )  # fmt: skip

    text, answer = text_view(Agent(script(), [echo], preset="streaming"))
    assert answer == "It is here."
    assert text.count("<__final_answer__>") == text.count("</__final_answer__>") == 1
    assert "<__final_answer__>It is here.</__final_answer__>" in text
    assert "I look it up." in text
    assert "[echo]" in text
    assert "found" in text
    plain, answer = text_view(Agent(script(), [echo], preset="streaming"), skip_special_tokens=True)
    assert "__final_answer__" not in plain
    assert plain.count("It is here.") == 1
    assert answer == "It is here."


def test_a_marker_never_leaks_in_part():
    for chunk in range(1, 12):
        model = ScriptedModel(
            ["a <__fin b <__final_answer__>x</__fi y</__final_answer__>"], abilities={"tool_call": False}, chunk=chunk
        )
        text, answer = text_view(Agent(model, [echo], preset="streaming"), skip_special_tokens=True)
        assert "<__final_answer__>" not in text
        assert answer == "x</__fi y"


async def test_text_and_run_sync_work_inside_a_running_loop():
    assert Agent(ScriptedModel(["sync"]), [echo]).run_sync("q").answer == "sync"
    text, answer = text_view(Agent(ScriptedModel(["sync"]), [echo]))
    assert answer == "sync"
    assert text == "sync"


def test_task_successful_is_on_the_result():
    reply = {"thought": "no way", "action": "final_answer", "args": {}, "final_answer": "could not"}
    model = ScriptedModel([json.dumps({**reply, "task_successful": False})], abilities={"tool_call": False})
    result = go(Agent(model, [echo], dialect="schema").run("q"))
    assert result.task_successful is False
    assert result.answer == "could not"
    assert not result.success


def test_a_tool_can_end_the_run():
    @tool
    async def report() -> ToolResponse:
        """Report."""
        return ToolResponse("the report", final_answer=True)

    model = ScriptedModel([call("report"), "never asked"])

    async def main() -> None:
        events = [event async for event in Agent(model, [report]).stream("q")]
        assert [e.text for e in events if isinstance(e, AnswerDone)] == ["the report"]

    go(main())
    result = go(Agent(ScriptedModel([call("report")]), [report], answer="synthesize").run("q"))
    assert result.stop_reason == "final_tool"
    assert result.answer == "the report"
