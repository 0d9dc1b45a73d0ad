"""A run that fails and raises nothing is seen: one line in the log, and the error in what is printed of the result."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kit import add, go
from models.loopback import Loopback, reply
from treadle import (
    Agent,
    Conversation,
    MaxIterationsError,
    OpenAIModel,
    RequestRefusedError,
    RunError,
    RunResult,
    ScriptedModel,
    ToolError,
)

ADD = {"name": "add", "args": {"a": 1, "b": 2}}


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_refused_key_is_one_line_that_names_the_variable(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-wrong-wrong")

    async def asked() -> RunResult:
        async with Loopback([reply({"error": {"message": "Incorrect API key provided"}}, 401)]) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
            async with Agent("openai:gpt-5-mini", tools=None) as agent:
                return await agent.run("Hello?", on_error="result")

    result = go(asked())
    (line,) = warnings_of(caplog)
    for text in (line, repr(result)):
        assert "HTTP 401: Incorrect API key provided" in text
        assert "the key in OPENAI_API_KEY" in text
        assert "sk-wrong" not in text
    assert line.startswith(f"run {result.run_id} failed (error): RequestRefusedError: ")
    assert isinstance(result.error, RequestRefusedError)


def test_a_key_that_was_not_sent_names_the_variable(caplog: pytest.LogCaptureFixture):
    async def asked() -> RunResult:
        async with Loopback([reply({"error": {"message": "who are you"}}, 401)]) as server:
            return await Agent(OpenAIModel("gpt-5-mini", base_url=f"{server.url}/v1"), tools=None).start("Hello?")

    result = go(asked())
    assert "OPENAI_API_KEY" in warnings_of(caplog)[0]
    assert "OPENAI_API_KEY" in repr(result)


def test_a_limit_is_one_line_too_and_a_good_run_none(caplog: pytest.LogCaptureFixture):
    Agent(ScriptedModel([ADD, "3"]), [add]).run_sync("1 + 2?")
    assert warnings_of(caplog) == []
    result = Agent(ScriptedModel([ADD, ADD, "3"]), [add], max_iterations=1, on_limit="fallback").run_sync("1 + 2?")
    (line,) = warnings_of(caplog)
    assert "failed (limit): MaxIterationsError: no answer after 1 iterations" in line
    assert "error=MaxIterationsError('no answer after 1 iterations" in repr(result)


def test_what_is_raised_is_not_logged_beside(caplog: pytest.LogCaptureFixture):
    with pytest.raises(RequestRefusedError):
        Agent(ScriptedModel([RequestRefusedError("no")]), tools=None, raise_errors=True).run_sync("?")
    with pytest.raises(MaxIterationsError):
        Agent(ScriptedModel([ADD, ADD]), [add], max_iterations=1, on_limit="raise").run_sync("?")
    assert warnings_of(caplog) == []


def test_the_line_goes_to_the_logger_of_the_agent(caplog: pytest.LogCaptureFixture):
    own = logging.getLogger("shop.clerk")
    Agent(ScriptedModel([RequestRefusedError("no")]), tools=None, logger=own, on_error="result").run_sync("?")
    assert [record.name for record in caplog.records if record.levelno >= logging.WARNING] == ["shop.clerk"]


def test_a_run_inside_another_is_told_by_the_outer_one(caplog: pytest.LogCaptureFixture):
    inner = Agent(ScriptedModel([RequestRefusedError("no")]), tools=None, name="inner")
    outer = Agent(ScriptedModel([{"name": "inner", "args": {"task": "go"}}, "It failed."]), [inner.as_tool()])
    assert outer.run_sync("?").success
    assert not [line for line in warnings_of(caplog) if "failed (error)" in line]


def test_a_failed_run_that_is_given_again_says_why(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with Agent(ScriptedModel([RequestRefusedError("not you")]), tools=None, journal=tmp_path / "runs.db") as agent:
        first = agent.run_sync("?", on_error="result")
        again = agent.resume_sync(first.run_id, on_error="result")
    assert isinstance(again.error, RequestRefusedError)
    assert "error=RequestRefusedError('not you')" in repr(again)
    assert len(warnings_of(caplog)) == 1  # once, when it happened


def test_a_paused_run_says_what_waits():
    agent = Agent(ScriptedModel([ADD, "3"]), [add], ask=["add"])
    assert "pending=['add']" in repr(agent.run_sync("1 + 2?"))


def test_errors_made_of_more_than_their_words_are_given_again_as_words(tmp_path: Path):
    from treadle.plugins import Guardrail

    async def never(*_: object) -> str:
        return "never"

    guard = Guardrail(never, on="input")
    with Agent(ScriptedModel(["hi"]), tools=None, plugins=[guard], journal=tmp_path / "runs.db") as agent:
        again = agent.resume_sync(agent.run_sync("?").run_id)
    assert again.error is not None
    assert "has stopped the run: never" in str(again.error)
    assert not isinstance(again.error, ToolError)


def test_a_run_that_failed_without_an_answer_is_raised_with_its_result():
    agent = Agent(ScriptedModel([RequestRefusedError("not you")], repeat_last=True), tools=None)
    for ask in (agent.run_sync, Conversation(agent).ask_sync):
        with pytest.raises(RunError, match="RequestRefusedError: not you") as raised:
            ask("?")
        result = raised.value.result
        assert (result.stop_reason, result.answer, result.success) == ("error", "", False)
        assert isinstance(raised.value.__cause__, RequestRefusedError)
    assert agent.run_sync("?", on_error="result").answer == ""
    with pytest.raises(RunError):
        go(_text(agent))


async def _text(agent: Agent) -> list[str]:
    return [piece async for piece in agent.stream_text("?")]


def test_a_run_that_failed_after_results_gives_them():
    result = Agent(ScriptedModel([ADD, RequestRefusedError("quota")]), [add]).run_sync("?")
    assert (result.stop_reason, result.success) == ("error", False)
    assert "Last result: 3" in result.answer


def test_an_output_that_cannot_be_read_is_an_error():
    agent = Agent(ScriptedModel(["about three"], repeat_last=True), tools=None, output_type=int)
    with pytest.raises(RunError, match="StructuredCallError") as raised:
        agent.run_sync("?")
    assert (raised.value.result.stop_reason, raised.value.result.output) == ("error", None)


def test_the_answer_streams_as_strings():
    agent = Agent(ScriptedModel(["one two three"], chunk=4), tools=None)
    pieces = go(_text(agent))
    assert len(pieces) > 1
    assert "".join(pieces) == "one two three"
