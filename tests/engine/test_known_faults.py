"""Things known to go wrong in engines of this kind."""

from __future__ import annotations

import asyncio
import threading

import pytest

from kit import add, assert_paired, call, echo, go
from treadle import Agent, Artifact, ScriptedModel, ToolResponse, tool
from treadle._types.messages import SystemMessage, UserMessage, text_of
from treadle._types.request import Reply

TEXT_MODEL = {"tool_call": False, "json_schema": False, "json_mode": False}


def sent_text(request) -> str:
    return "\n".join(text_of(m.content) if hasattr(m, "content") else m.text for m in request.messages)


def test_in_a_text_dialect_the_synthesis_sees_the_observations():
    model = ScriptedModel(
        ['{"type": "tool_call", "reasoning": "r", "tool_name": "echo", "tool_args": {"text": "the secret is 4711"}}',
         '{"type": "final_answer", "reasoning": "r", "answer": "brief"}', "The long answer."],
        abilities=TEXT_MODEL,
    )  # fmt: skip
    result = go(Agent(model, [echo], preset="two_phase").run("What is it?"))
    assert result.answer == "The long answer."
    assert result.brief == "brief"
    assert "the secret is 4711" in sent_text(model.requests[-1])
    assert "What is it?" in sent_text(model.requests[-1])


@pytest.mark.parametrize("preset", ["two_phase", "default"])
@pytest.mark.parametrize("native", [True, False])
def test_an_artifacts_html_does_not_reach_the_model(preset: str, native: bool):
    @tool
    async def page() -> ToolResponse:
        """Make a page."""
        return ToolResponse("made", artifacts=(Artifact("report.html", "<html><b>HUGE</b></html>", "text/html"),))

    first = call("page") if native else '{"name": "page", "arguments": {}}'
    done = "ok" if native else '{"type": "final_answer", "reasoning": "", "answer": "ok"}'
    model = ScriptedModel([first, done, "final"], abilities={} if native else TEXT_MODEL)
    result = go(Agent(model, [page], preset=preset).run("q"))
    for request in model.requests:
        assert "HUGE" not in sent_text(request)
    assert any("[Artifact generated: report.html]" in sent_text(request) for request in model.requests)
    assert result.artifacts[0].content == "<html><b>HUGE</b></html>"


def test_a_malformed_tool_call_is_repaired_as_a_tool_call():
    model = ScriptedModel(
        ['{"type": "tool_call", "tool_name": "add", "tool_args": {"a": 1, "b": ',
         '{"type": "tool_call", "reasoning": "", "tool_name": "add", "tool_args": {"a": 1, "b": 2}}',
         '{"type": "final_answer", "reasoning": "", "answer": "3"}'],
        abilities=TEXT_MODEL,
    )  # fmt: skip
    result = go(Agent(model, [add], dialect="json").run("1+2?"))
    assert result.answer == "3"
    assert [step.tool for step in result.steps] == ["add"]
    reformat = text_of(model.requests[1].messages[-1].content)
    assert "tool" in reformat
    assert "answer" in reformat


def test_truncation_never_drops_the_system_prompt_or_the_question():
    model = ScriptedModel([call("echo", text=f"{number} " * 20) for number in range(30)] + ["done"])
    agent = Agent(model, [echo], system="SYSTEM", max_history_messages=6, plugins=[])
    result = go(agent.run("THE QUESTION"))
    assert result.answer == "done"
    assert result.metadata["messages_trimmed"] >= 1
    for request in model.requests:
        assert isinstance(request.messages[0], SystemMessage)
        assert "SYSTEM" in request.messages[0].text
        assert any(isinstance(m, UserMessage) and m.content == "THE QUESTION" for m in request.messages)
        assert_paired(request.messages)
        assert len(request.messages) <= 6 + 3


def test_a_second_run_does_not_see_the_first():
    model = ScriptedModel([call("echo", text="FIRST"), "one", "two"])
    agent = Agent(model, [echo])
    go(agent.run("first question"))
    result = go(agent.run("second question"))
    assert result.answer == "two"
    assert "FIRST" not in sent_text(model.requests[-1])
    assert "first question" not in sent_text(model.requests[-1])
    assert result.iterations == 1
    assert result.steps == []


@pytest.mark.parametrize("text_dialect", [False, True])
async def test_an_interrupt_on_the_last_iteration_is_still_answered(text_dialect: bool):
    run = None

    def last(request):
        run.send("and in euros?")
        return '{"type": "final_answer", "reasoning": "", "answer": "10 dollars"}' if text_dialect else "10 dollars"

    after = '{"type": "final_answer", "reasoning": "", "answer": "9 euros"}' if text_dialect else "9 euros"
    model = ScriptedModel([last, after], abilities=TEXT_MODEL if text_dialect else {})
    run = Agent(model, [echo], max_iterations=1).start("price?")
    result = await run
    assert result.answer == "9 euros"
    assert result.stop_reason == "answer"
    interrupt = model.requests[1].messages[-1]
    assert interrupt.pinned
    assert interrupt.content.startswith("[USER INTERRUPT]")
    assert "and in euros?" in interrupt.content


async def test_async_tools_are_awaited_and_sync_tools_do_not_block_the_loop():
    loop, released = asyncio.get_running_loop(), threading.Event()

    @tool
    def slow() -> str:
        """Wait in a thread for what only a loop that is not blocked can do."""
        loop.call_soon_threadsafe(released.set)
        return "released" if released.wait(timeout=20) else "blocked"

    result = await Agent(ScriptedModel([[call("slow"), call("add", a=1, b=1)], "done"]), [slow, add]).run("q")
    assert [step.observation for step in result.steps] == ["released", "2"]


def test_truncated_arguments_are_never_executed():
    ran: list[str] = []

    @tool
    async def write(text: str) -> str:
        """Write."""
        ran.append(text)
        return "written"

    from treadle._types.request import RawCall

    cut = Reply(calls=(RawCall("c1", "write", '{"text": "half of the'),), finish="length")
    model = ScriptedModel([cut, "gave up"])
    result = go(Agent(model, [write]).run("q"))
    assert ran == []
    assert result.answer == "gave up"
    assert result.metadata["truncated_responses"] == 1
    assert result.steps[0].error == "invalid_args"
