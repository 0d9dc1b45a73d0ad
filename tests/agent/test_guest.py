"""An agent as a tool of another engine."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kit import call, go, until
from treadle import Agent, ConfigError, ScriptedModel, ToolError, tool
from treadle._agent.guest import answer_of, run_as_guest

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / ".venv" / "peers" / "bin" / "python"
PROGRAM = '''
import asyncio, warnings
warnings.simplefilter("ignore")
from agents import Agent as OpenAIAgent, ModelResponse, RunConfig, Runner, Usage
from agents.models.interface import Model
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.test import TestModel
from treadle import Agent, ScriptedModel, tool

ended = []

@tool
async def wait() -> str:
    """Wait."""
    await asyncio.sleep(60)

@tool(approval="ask")
def send(text: str) -> str:
    """Send it."""

def prices(*script):
    return Agent(ScriptedModel(script), [wait, send], name="prices", description="Knows prices.")

def watch(record):
    if type(record.event).__name__ in ("ToolStarted", "RunFinished"):
        ended.append(getattr(record.event, "stop_reason", "tool"))

class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools, **options):
        return self

def langchain(*script):
    asked = AIMessage("", tool_calls=[{"name": "prices", "args": {"question": "lamp?"}, "id": "c1"}])
    model = Scripted(messages=iter([asked, AIMessage("done")]))
    theirs = create_agent(model, [prices(*script).as_langchain(watch=watch)])
    return theirs.ainvoke({"messages": [("user", "?")]})

def pydantic_ai(*script):
    return PydanticAgent(TestModel(), tools=[prices(*script).as_pydantic_ai(watch=watch)]).run("?")

class OpenAIScripted(Model):
    async def get_response(self, *, input, **options):
        if isinstance(input, str) or input[-1].get("type") != "function_call_output":
            item = ResponseFunctionToolCall(
                call_id="c1", name="prices", arguments='{"question": "lamp?"}', type="function_call")
        else:
            text = ResponseOutputText(text=input[-1]["output"], type="output_text", annotations=[])
            item = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse([item], Usage(), None)

    def stream_response(self, *rest, **options):
        raise NotImplementedError

def openai(*script):
    theirs = OpenAIAgent("theirs", tools=[prices(*script).as_openai_agents(watch=watch)], model=OpenAIScripted())
    return Runner.run(theirs, "?", run_config=RunConfig(tracing_disabled=True))

async def main():
    read = {
        langchain: lambda result: (result["messages"][2].content, result["messages"][2].status),
        pydantic_ai: lambda result: (result.output, ""),
        openai: lambda result: (result.final_output, ""),
    }
    for start, answer in read.items():
        ended.clear()
        print(start.__name__, *answer(await start("40 dollars")), *ended)
        print(start.__name__, *answer(await start(ValueError("boom"))))
        print(start.__name__, *answer(await start({"name": "send", "args": {"text": "x"}})))
        ended.clear()
        task = asyncio.create_task(start({"name": "wait", "args": {}}))
        while not ended:
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])
        while len(ended) < 2:
            await asyncio.sleep(0.01)
        print(start.__name__, *ended)
    print(prices("40 dollars").as_langchain("look-up", "Ask.").invoke({"question": "lamp?"}))

asyncio.run(main())
'''


@pytest.mark.skipif(not PEERS.exists(), reason="python3 tasks.py peers installs the other engines")
def test_an_agent_in_another_engine_where_it_is_installed(tmp_path: Path):
    """An answer, a failure, a call that waits for a person, and a stop in the middle, in the loops of three engines."""
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src")}
    command = [str(PEERS), "program.py"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    lines = done.stdout.splitlines()
    assert len(lines) == 13, done.stderr
    for at, engine in ((0, "langchain"), (4, "pydantic_ai"), (8, "openai")):
        answer, failure, waiting, stopped = (line.removeprefix(f"{engine} ") for line in lines[at : at + 4])
        assert answer.endswith(" answer"), engine
        assert "40 dollars" in answer, engine
        assert "boom" in failure, engine
        assert "waits for a person" in waiting, engine
        assert stopped == "tool cancelled", engine
    assert lines[12] == "40 dollars"


@tool(approval="ask")
def send(text: str) -> str:
    """Send it."""
    return f"sent {text}"


def test_only_a_whole_answer_is_an_answer():
    def result(*script: Any, **options: Any) -> Any:
        return go(run_as_guest(Agent(ScriptedModel(script), [send], on_error="result", **options), "Send it."))

    assert answer_of(result("Done.")) == "Done."
    with pytest.raises(ToolError, match=r"waits for a person.*send"):
        answer_of(result(call("send", text="x")))
    with pytest.raises(ToolError, match="boom"):
        answer_of(result(ValueError("boom")))
    with pytest.raises(ToolError, match="gave no answer"):
        answer_of(result(""))


async def test_a_run_stops_with_whoever_asked():
    seen: list[str] = []

    @tool
    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(60)
        return "never"

    agent = Agent(ScriptedModel([call("wait")]), [wait])
    task = asyncio.ensure_future(run_as_guest(agent, "Wait.", lambda r: seen.append(type(r.event).__name__)))
    await until(lambda: "ToolStarted" in seen)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen[-1] == "RunFinished"


def test_an_engine_that_is_not_installed_is_named():
    with pytest.raises(ConfigError, match="langchain_core"):
        Agent(ScriptedModel([])).as_langchain()
