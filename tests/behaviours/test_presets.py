"""Each preset follows its description call by call (the thinking aids of two of them are tested with the plug-ins)."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from kit import add, call, echo, fail, go
from treadle import Agent, MaxIterationsError, RepairPolicy, ScriptedModel, ToolResponse, tool
from treadle._types.errors import ConfigError
from treadle._types.events import AnswerRetracted, Event, ToolStarted
from treadle._types.messages import UserMessage, text_of
from virtual_time import go_virtual

PLAIN = {"tool_call": False, "json_mode": False, "json_schema": False}


def components(model: ScriptedModel) -> list[str]:
    return [request.component for request in model.requests]


def events_of(agent: Agent, question: str, **options: Any) -> list[Event]:
    async def main() -> list[Event]:
        return [event async for event in agent.stream(question, **options)]

    return go(main())


def test_two_phase_native():
    model = ScriptedModel([[call("add", a=1, b=2), call("echo", text="x")], "3", "**3**"])
    agent = Agent(model, [add, echo], preset="two_phase")
    result = go(agent.run("1+2?"))
    assert components(model) == ["loop", "loop", "synthesis"]
    assert [len(request.tools) for request in model.requests] == [2, 2, 0]
    assert [step.tool for step in result.steps] == ["add", "echo"]
    assert (result.answer, result.brief) == ("**3**", "3")


def test_two_phase_runs_all_native_calls_of_a_reply_at_once_unless_a_limit_is_set():
    @tool
    async def nap(n: int) -> int:
        """Sleep."""
        await asyncio.sleep(1)
        return n

    def seconds(**settings: Any) -> float:
        model = ScriptedModel([[call("nap", n=n) for n in range(20)], "done", "Done."])
        return go_virtual(Agent(model, [nap], preset="two_phase", **settings).run("q"))[1]

    assert seconds() == pytest.approx(1)
    assert seconds(max_parallel=10) == pytest.approx(2)


def test_two_phase_json_takes_one_tool_and_reformats_once():
    two = '[{"name": "add", "arguments": {"a": 1, "b": 2}}, {"name": "echo", "arguments": {"text": "x"}}]'
    model = ScriptedModel(
        [two, "no json at all", '{"type": "final_answer", "reasoning": "r", "answer": "3"}', "Three."], abilities=PLAIN
    )
    result = go(Agent(model, [add, echo], preset="two_phase").run("1+2?"))
    assert components(model) == ["loop", "loop", "loop", "synthesis"]
    assert [step.error for step in result.steps] == ["", "rejected"]
    assert result.iterations == 3  # the reformat counts
    assert result.answer == "Three."
    assert "add" in model.requests[0].messages[0].text  # tools are described in the prompt


def test_two_phase_raw_text_becomes_the_answer_after_one_reformat():
    model = ScriptedModel(["not json", "still not json"], abilities=PLAIN)
    agent = Agent(model, [add], preset="two_phase")
    events = events_of(agent, "q")
    assert components(model) == ["loop", "loop"]
    thoughts = [event.thought for event in events if type(event).__name__ == "ThinkDone"]
    assert thoughts == ["(could not parse LLM output as JSON)"] * 2
    assert events[-1].answer == "still not json"
    assert events[-1].success is False


def test_two_phase_fallback_summary_at_the_limit():
    count = iter(range(100))
    model = ScriptedModel(lambda r: call("echo", text=str(next(count))))
    result = go(Agent(model, [echo], preset="two_phase", max_iterations=2).run("q"))
    assert components(model) == ["loop", "loop"]
    assert result.stop_reason == "limit"
    assert result.answer.count("echo: succeeded") == 2


def action(tool_name: str | None, **inputs: Any) -> str:
    import msgspec

    return (
        "Thinking.\nAction: "
        + msgspec.json.encode({"tool": tool_name, "inputs": inputs, "final_answer": False}).decode()
    )


def test_streaming_streams_thoughts_and_prunes_unknown_arguments():
    model = ScriptedModel([action("add", a=1, b=2, c=3), "<__final_answer__>3</__final_answer__>"], abilities=PLAIN)
    agent = Agent(model, [add], preset="streaming")
    events = events_of(agent, "1+2?")
    assert components(model) == ["loop", "loop"]
    assert all(request.stream for request in model.requests)
    assert (model.requests[0].temperature, model.requests[0].max_tokens) == (0.7, 8000)
    assert [event.text for event in events if isinstance(event, AnswerRetracted)] == ["Thinking."]
    assert events[-1].answer == "3"


def test_streaming_repairs_unreadable_actions_in_a_separate_call():
    script = [
        'Thinking.\nAction: {"tool": "add", "inputs": {"a": 1, ',
        action("add", a=1, b=2),
        "<__final_answer__>3</__final_answer__>",
    ]
    model = ScriptedModel(script, abilities=PLAIN)
    result, seconds = go_virtual(Agent(model, [add], preset="streaming").run("q"))
    assert components(model) == ["loop", "repair", "loop"]
    assert model.requests[1].temperature == 0.1
    assert result.iterations == 2  # the repair is not counted
    assert result.answer == "3"
    assert seconds == pytest.approx(0.8)  # the pause before a repair


def test_streaming_repairs_a_missing_action_before_prose_is_the_answer():
    forgot = ScriptedModel(
        ["I will add them.", action("add", a=1, b=2), "<__final_answer__>3</__final_answer__>"], abilities=PLAIN
    )
    result, seconds = go_virtual(Agent(forgot, [add], preset="streaming").run("q"))
    assert components(forgot) == ["loop", "repair", "loop"]
    assert (result.answer, [step.tool for step in result.steps]) == ("3", ["add"])
    assert seconds == pytest.approx(0.8)
    prose = ScriptedModel(["Well.", "Well, well.", "It is 3."], abilities=PLAIN)
    result, seconds = go_virtual(Agent(prose, [add], preset="streaming").run("q"))
    assert components(prose) == ["loop", "repair", "repair"]
    assert (result.answer, result.success) == ("It is 3.", True)
    assert seconds == pytest.approx(0.8 + 1.6)


@pytest.mark.parametrize(
    "reply", ["<__final_answer__>3</__final_answer__>", "Final Answer: 3", '3\nAction: {"tool": null, "inputs": {}}']
)
def test_streaming_takes_an_answer_in_a_form_of_its_own_at_once(reply: str):
    model = ScriptedModel([reply], abilities=PLAIN)
    assert go(Agent(model, [add], preset="streaming").run("q")).answer == "3"
    assert go(Agent(ScriptedModel(["Hello!"], abilities=PLAIN), None, preset="streaming").run("q")).answer == "Hello!"


def test_streaming_goes_on_with_an_observation_when_an_action_cannot_be_repaired():
    broken = 'Thinking.\nAction: {"tool": "add", "inputs": {"a": 1, '
    model = ScriptedModel([broken] * 3 + ["<__final_answer__>no tool works</__final_answer__>"], abilities=PLAIN)
    result, _ = go_virtual(Agent(model, [add], preset="streaming").run("q"))
    assert components(model) == ["loop", "repair", "repair", "loop"]
    assert "No tool was run" in str(model.requests[-1].messages[-1])
    assert (result.answer, result.success, result.iterations) == ("no tool works", True, 2)
    endless = ScriptedModel([broken], abilities=PLAIN, repeat_last=True)
    result, _ = go_virtual(Agent(endless, [add], preset="streaming", max_iterations=3).run("q"))
    assert result.stop_reason == "limit"
    assert components(endless) == [*["loop", "repair", "repair"] * 3, "final"]


def test_streaming_shows_observations_to_the_logger_that_was_given(caplog: pytest.LogCaptureFixture):
    own = logging.getLogger("mine")
    caplog.set_level(logging.INFO, "mine")
    script = [action("echo", text="seen"), "<__final_answer__>ok</__final_answer__>"]
    go(Agent(ScriptedModel(script, abilities=PLAIN), [echo], preset="streaming", logger=own).run("q"))
    (line,) = [record.getMessage() for record in caplog.records if "tool finished" in record.getMessage()]
    assert "observation=seen" in line
    caplog.clear()
    quiet = Agent(ScriptedModel(script, abilities=PLAIN), [echo], preset="streaming", logger=own, verbose=False)
    go(quiet.run("q"))
    assert "tool finished" in caplog.text
    assert "observation" not in caplog.text


def test_streaming_shows_the_error_of_a_generator_that_breaks_off():
    @tool
    async def lines() -> Any:
        """Some lines."""
        yield "one\n"
        raise ValueError("the rest is lost")

    script = [action("lines"), "<__final_answer__>ok</__final_answer__>"]
    agent = Agent(ScriptedModel(script, abilities=PLAIN), [lines], preset="streaming", repair=RepairPolicy())
    text = "".join(agent.text("q"))
    assert text.count("one") == 1
    assert text.count("the rest is lost") == 1
    assert text.index("one") < text.index("the rest is lost") < text.index("ok")


def test_streaming_repairs_failed_tools_twice_and_may_change_the_tool():
    policy = RepairPolicy(max_parse=2, max_tool=2, backoff=0.01, separate_call=True, counts_as_iteration=False)
    script = [
        action("fail"),
        action("fail", text="again"),
        action("echo", text="other tool"),
        "<__final_answer__>ok</__final_answer__>",
    ]
    model = ScriptedModel(script, abilities=PLAIN)
    result = go(Agent(model, [fail, echo], preset="streaming", repair=policy).run("q"))
    assert components(model) == ["loop", "repair", "repair", "loop"]
    assert [step.tool for step in result.steps] == ["fail", "fail", "echo"]
    assert "again" in result.steps[1].observation  # messages of errors are shown in this preset
    hopeless = ScriptedModel(
        [*[action("fail", text=str(i)) for i in range(4)], "<__final_answer__>no</__final_answer__>"], abilities=PLAIN
    )
    result = go(Agent(hopeless, [fail, echo], preset="streaming", repair=policy).run("q"))
    assert components(hopeless)[:4] == ["loop", "repair", "repair", "loop"]
    assert result.answer == "no"


def test_streaming_passes_extras_past_the_model():
    seen: list[Any] = []

    @tool
    def connect() -> ToolResponse:
        """Connect."""
        return ToolResponse("connected", extras={"handle": object})

    @tool
    def query(sql: str, **kwargs: Any) -> str:
        """Query."""
        seen.append(kwargs.get("handle"))
        return "rows"

    model = ScriptedModel(
        [
            action("connect"),
            action("query", sql="s"),
            action("query", sql="t"),
            "<__final_answer__>x</__final_answer__>",
        ],
        abilities=PLAIN,
    )
    go(Agent(model, [connect, query], preset="streaming").run("q"))
    assert seen == [object, None]
    for request in model.requests:
        assert all("handle" not in text_of(m.content) for m in request.messages if isinstance(m, UserMessage))


def test_strict_is_one_completion_a_round_tools_one_after_the_other():
    order: list[str] = []

    @tool
    async def step(name: str) -> str:
        """Step."""
        order.append(f"{name} in")
        await asyncio.sleep(0.01)
        order.append(f"{name} out")
        return name

    model = ScriptedModel([[call("step", name="a"), call("step", name="b")], "done"])
    result = go(Agent(model, [step], preset="strict").run("q"))
    assert components(model) == ["loop", "loop"]
    assert order == ["a in", "a out", "b in", "b out"]
    assert result.answer == "done"
    assert (model.requests[0].temperature, model.requests[0].max_tokens) == (0.3, 4096)
    with pytest.raises(TypeError, match="needs native tool calls"):
        Agent(ScriptedModel([], abilities=PLAIN), [add], preset="strict")
    count = iter(range(100))
    with pytest.raises(MaxIterationsError):
        go(Agent(ScriptedModel(lambda r: call("echo", text=str(next(count)))), [echo], preset="strict").run("q"))


def test_strict_shows_the_class_of_an_error_only():
    model = ScriptedModel([call("fail", text="password=hunter2"), "done"])
    result = go(Agent(model, [fail], preset="strict").run("q"))
    assert result.steps[0].observation == "Tool 'fail' failed: ValueError"


def test_an_unknown_preset_names_the_known_ones():
    with pytest.raises(ConfigError, match="strict"):
        Agent(ScriptedModel([]), [add], preset="stric")


def test_parallel_calls_are_bounded_and_in_order():
    running = peak = 0

    @tool
    async def job(n: int) -> str:
        """Work."""
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0.02 if n % 2 else 0.04)
        running -= 1
        return str(n)

    model = ScriptedModel([[call("job", n=n) for n in range(9)], "done"])
    agent = Agent(model, [job], max_parallel=3)
    events = events_of(agent, "q")
    assert peak == 3
    assert sum(isinstance(event, ToolStarted) for event in events) == 9
    result = go(Agent(ScriptedModel([[call("job", n=n) for n in range(9)], "done"]), [job], max_parallel=3).run("q"))
    assert [step.observation for step in result.steps] == [str(n) for n in range(9)]
