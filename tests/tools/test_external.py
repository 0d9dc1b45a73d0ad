"""Tools without a body: the run pauses, and whoever called gives the result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit import add, call
from treadle import Agent, ScriptedModel, Tool, ToolError, external_tool, open_journal
from treadle._agent.waiting import leave_results
from treadle._journal.memory import MemoryJournal
from treadle._tools.external import MAX_RESULT_CHARS, client_tool
from treadle._types.errors import ConfigError, SchemaError
from treadle._types.events import Paused, ToolAnswered, ToolDone, ToolStarted
from treadle._types.messages import ImagePart
from treadle._types.request import RawCall, Reply
from treadle._types.state import fold

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
    "additionalProperties": False,
}
crm = external_tool("crm", "Looks a customer up.", PARAMETERS)


def asker(*more: Any, tools: Any = None, **options: Any) -> Agent:
    return Agent(ScriptedModel([call("crm", number=7), *more]), tools or [crm], **options)


def test_a_call_pauses_the_run_until_its_result_is_given():
    agent = asker("It is Ann.")
    result = agent.run_sync("Who is customer 7?")
    assert (result.stop_reason, result.answer) == ("paused", "")
    [waiting] = result.pending
    assert (waiting.tool, waiting.args, waiting.external) == ("crm", {"number": 7}, True)
    assert waiting.why == "result of crm"
    assert "results={" in waiting.how
    result = agent.resume_sync(result.run_id, results={waiting.call_id: {"name": "Ann"}})
    assert result.answer == "It is Ann."
    assert [step.observation for step in result.steps] == ['{"name":"Ann"}']
    assert result.sources == ("crm",), "what came from outside is known to come from there"


def test_a_tool_without_a_function_is_external():
    tool = Tool("crm", "Looks up.", PARAMETERS)
    assert tool.external
    assert not add.external
    with pytest.raises(NotImplementedError, match="has no body"):
        tool(number=1)


def test_a_call_that_failed_and_one_that_is_refused():
    refusal = {"c": {"allow": False, "note": "private"}}
    for given in ({"results": {"c": ToolError("no such customer")}}, {"approve": refusal}):
        agent = asker("Sorry.")
        result = agent.run_sync("?")
        call_id = result.pending[0].call_id
        how: Any = {name: {call_id: answer["c"]} for name, answer in given.items()}
        result = agent.resume_sync(result.run_id, **how)
        assert result.answer == "Sorry."
        assert result.steps[0].error in ("exception", "denied")
        assert "no such customer" in result.steps[0].observation or "private" in result.steps[0].observation


def test_what_cannot_be_the_result():
    strict = external_tool("crm", "x", PARAMETERS, returns={"type": "object", "required": ["name"]})
    agent = asker("ok", tools=[strict])
    result = agent.run_sync("?")
    call_id = result.pending[0].call_id
    for wrong, words in (
        ({"other": "x"}, f"no call 'other' waits for a result; waiting: {call_id} (crm)"),
        ({call_id: {"age": 3}}, "is not what the tool returns: "),
        ({call_id: "no JSON"}, "is not what the tool returns: "),
        ({call_id: "x" * (MAX_RESULT_CHARS + 1)}, "characters: at most"),
        ("x", "must be a mapping of call ids to results"),
    ):
        with pytest.raises(ConfigError) as raised:
            agent.resume_sync(result.run_id, results=wrong)  # pyright: ignore[reportArgumentType]
        assert words in str(raised.value)
    for approve in (True, {call_id: True}, {"all": {"allow": True}}):
        with pytest.raises(ConfigError, match="waits for its result, not for approval"):
            agent.resume_sync(result.run_id, approve=approve)
    assert agent.resume_sync(result.run_id, results={call_id: '{"name": "Ann"}'}).answer == "ok"


async def test_a_result_that_got_past_the_door_is_checked_again():
    journal = MemoryJournal()
    agent = asker("ok", tools=[external_tool("crm", "x", PARAMETERS, returns={"type": "integer"})], journal=journal)
    paused = await agent.run("?")
    state = fold(await journal.load(paused.run_id))
    await leave_results(journal, paused.run_id, state, {paused.pending[0].call_id: "many"})  # the tool is not known
    result = await agent.resume(paused.run_id)
    assert result.steps[0].error == "exception"
    assert "not what it returns" in result.steps[0].observation


def test_wrong_arguments_are_the_models_to_correct():
    agent = Agent(ScriptedModel([call("crm", number="seven"), call("crm", number=7), "ok"]), [crm])
    result = agent.run_sync("?")
    assert [one.args for one in result.pending] == [{"number": 7}], "nobody was bothered with the first call"
    assert "expected integer" in result.steps[0].observation


def test_a_long_result_is_cut_and_an_image_is_one():
    agent = asker("ok", max_observation_chars=500)
    result = agent.run_sync("?")
    result = agent.resume_sync(result.run_id, results={result.pending[0].call_id: "x" * 5000})
    assert len(result.steps[0].observation) <= 500
    agent = asker("ok")
    result = agent.run_sync("?")
    picture = ImagePart(data="iVBORw0KGgo=", text="a dot")
    assert agent.resume_sync(result.run_id, results={result.pending[0].call_id: [picture]}).answer == "ok"


def test_approval_comes_first_and_nothing_runs_before_all_is_there():
    ran: list[int] = []

    async def note(number: int) -> str:
        """Note a number."""
        ran.append(number)
        return "noted"

    careful = external_tool("crm", "x", PARAMETERS, approval="ask")
    reply = Reply("", (RawCall("c1", "note", '{"number": 1}'), RawCall("c2", "crm", '{"number": 7}')))
    agent = Agent(ScriptedModel([reply, "ok"]), [note, careful])
    first = agent.run_sync("?")
    assert [(one.tool, one.external) for one in first.pending] == [("crm", False)]
    second = agent.resume_sync(first.run_id, approve=True)
    assert [(one.tool, one.external) for one in second.pending] == [("crm", True)]
    assert ran == []
    assert agent.resume_sync(first.run_id, results={second.pending[0].call_id: "Ann"}).answer == "ok"
    assert ran == [1]


async def test_inside_another_agent():
    clerk = asker("It is Ann.", name="clerk")
    order = {"user_prompt": "who?", "reasoning": "", "context": ""}
    boss = Agent(ScriptedModel([call("clerk", **order), "Ann."]), [clerk.as_tool()], journal=MemoryJournal())
    paused = await boss.run("?")
    [waiting] = paused.pending
    assert waiting.external
    assert ":" in waiting.call_id
    result = await boss.resume(paused.run_id, results={waiting.call_id: "Ann"})
    assert (result.answer, result.sources) == ("Ann.", ("crm",))


def test_secrets_in_a_result_are_not_recorded():
    agent = asker("ok", secrets=["hunter2-hunter2"])
    result = agent.run_sync("?")
    result = agent.resume_sync(result.run_id, results={result.pending[0].call_id: "the password is hunter2-hunter2"})
    assert "hunter2-hunter2" not in str(result.messages)


async def test_tools_that_the_caller_brings_are_in_the_log():
    """Another process, which has only the agent, can go on."""
    journal = MemoryJournal()
    brought = client_tool("crm", "x", PARAMETERS)
    first = Agent(ScriptedModel([call("crm", number=7)]), [add], journal=journal)
    paused = await first.launch(first.prepare("?", client_tools=[brought]))
    other = Agent(ScriptedModel(["It is Ann."]), [add], journal=journal)
    result = await other.resume(paused.run_id, results={paused.pending[0].call_id: "Ann"})
    assert result.answer == "It is Ann."
    with pytest.raises(ConfigError, match="the tool 'add' was brought"):
        first.prepare("?", client_tools=[client_tool("add", "x", PARAMETERS)])


def test_schemas_are_checked_where_the_tool_is_made():
    with pytest.raises(SchemaError):
        external_tool("x", "x", {"type": "array"})
    with pytest.raises(SchemaError, match="`returns` is not a valid JSON Schema"):
        external_tool("x", "x", returns={"type": "no such type"})


async def test_code_and_early_starts_wait_too():
    """A pure external tool must not be started while the reply is written."""
    pure = external_tool("crm", "x", PARAMETERS, effect="pure")
    agent = Agent(ScriptedModel([call("crm", number=7), "ok"], chunk=3), [pure], stream_thoughts=True)
    kinds = [type(event) async for event in agent.stream("?")]
    assert Paused in kinds
    assert ToolStarted not in kinds


KILLED = """
import os, sys
from treadle import Agent, ScriptedModel, external_tool, Plugin
from kit import call

class Die(Plugin):
    async def after_tool(self, run, called, outcome):
        os._exit(9)  # between the start and the end of the call

parameters = {"type": "object", "properties": {"number": {"type": "integer"}}}
agent = Agent(ScriptedModel([call("crm", number=7), "ok"]), [external_tool("crm", "x", parameters)],
              journal=sys.argv[1], plugins=[Die()] if sys.argv[2] == "die" else [])
if sys.argv[2] == "start":
    print(agent.run_sync("?", run_id="r1").pending[0].call_id)
    os._exit(9)
agent.resume_sync("r1", results={sys.argv[3]: "Ann"})
"""


async def test_a_process_that_is_killed_while_it_waits_and_after_the_answer_loses_nothing(tmp_path: Path):
    path = str(tmp_path / "runs.db")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parents[1])])}

    def process(*args: str) -> str:
        done = subprocess.run([sys.executable, "-c", KILLED, path, *args], env=env, capture_output=True, text=True)
        assert done.returncode == 9, done.stderr
        return done.stdout.strip()

    call_id = process("start")
    process("die", call_id)
    journal = open_journal(path)
    agent = Agent(ScriptedModel(["It is Ann."]), [crm], journal=journal)
    result = await agent.resume("r1")
    assert result.answer == "It is Ann."
    assert [step.observation for step in result.steps] == ["Ann"], "the answer was not lost, nor asked for again"
    events = [record.event for record in await journal.load("r1")]
    assert sum(isinstance(event, ToolAnswered) for event in events) == 1
    assert sum(isinstance(event, ToolDone) for event in events) == 1
    await journal.aclose()
