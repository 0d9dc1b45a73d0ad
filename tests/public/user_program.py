"""A program as a user writes it. test_typed.py checks it in strict mode against the installed package, and runs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from treadle import (
    Agent,
    Approval,
    Budget,
    Conversation,
    ModelError,
    Profile,
    RunResult,
    Settings,
    Tool,
    ToolContext,
    ToolError,
    Toolkit,
    ToolResponse,
    TreadleError,
    Usage,
    open_journal,
    replay,
    structured_llm_call,
    tool,
)
from treadle.events import AnswerDelta, Event, Noted, Record, ToolDone
from treadle.messages import AssistantMessage, Reply, Request, StreamPart, TextDelta, ToolCall, UserMessage, text_of
from treadle.plugins import Citations, Plugin, RunContext, ToolOutcome
from treadle.testing import ScriptedModel, assert_prefix_stable, assert_replays


@tool(effect="pure", timeout=5)
async def price(item: str) -> str:
    """The price of an item."""
    if not item:
        raise ToolError("name an item")
    return f"{item}: 10 dollars"


@tool
def remember(text: str, context: ToolContext) -> ToolResponse:
    """Keep a note."""
    return ToolResponse(f"{context.call_id}: {text}", extras={"note": text})


@dataclass
class Offer:
    item: str
    dollars: int


class Echo:
    """A model of one's own."""

    name = "echo"
    profile = Profile(window=4096)

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        last = request.messages[-1]
        text = text_of(last.content) if isinstance(last, UserMessage) else ""
        if request.stream:
            yield TextDelta(text)
        yield Reply(text=text, usage=Usage(requests=1))

    async def aclose(self) -> None:
        pass


class Discount(Plugin):
    """A plug-in of one's own."""

    name = "discount"

    async def on_start(self, run: RunContext) -> None:
        await run.emit(Noted(self.name, {"tools": list(run.toolkit.names)}))

    async def before_tool(self, run: RunContext, call: ToolCall) -> ToolCall | ToolOutcome:
        known = run.tool(call.name) is not None and run.state.iteration < run.settings.max_iterations
        return call if known else ToolOutcome("not now", "rejected", executed=False)

    async def after_tool(self, run: RunContext, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
        return ToolOutcome(text_of(outcome.content).replace("10", "9"))


def shown(event: Event) -> str:
    match event:
        case ToolDone(name=name, content=content):
            return f"[{name}: {text_of(content)}]"
        case AnswerDelta(text=text):
            return text
        case _:
            return ""


def tools() -> Toolkit:
    kit = Toolkit([price, remember])
    kit.register(Tool("ping", "Answer.", {"type": "object", "properties": {}}, lambda: "pong"))
    return kit.filtered(lambda candidate: candidate.effect == "pure").prefixed("shop_")


async def main(folder: Path) -> RunResult[Offer]:
    journal = open_journal(folder / "runs.db")
    script = [{"name": "price", "args": {"item": "lamp"}}, '{"item": "lamp", "dollars": 10}']
    agent = Agent(
        ScriptedModel(script),
        tools=[price, remember],
        plugins=[Approval(), Citations(), Discount()],
        output_type=Offer,
        journal=journal,
        budget=Budget(requests=10),
        max_tokens=500,
        temperature=0.2,
    )
    run = agent.start("What does the lamp cost?", run_id="lamp")
    run.send("in dollars, please")
    result = await run
    records: list[Record] = await journal.load(result.run_id)
    assert replay(records).same
    assert_prefix_stable(records)
    await assert_replays(agent, "lamp")
    assert result.steps[0].observation == "lamp: 9 dollars"
    calls: list[ToolCall] = [c for m in result.messages if isinstance(m, AssistantMessage) for c in m.calls]
    assert [c.name for c in calls] == result.tools_used
    await journal.aclose()

    talk = Conversation(Agent(Echo(), tools=None))
    answer: str = (await talk.ask("Hello")).answer
    try:
        value = await structured_llm_call(ScriptedModel(['{"n": 1}']), "Count", {"type": "object"})
        print(value.value, answer, Settings().max_iterations)
    except (ModelError, TreadleError) as error:
        print(error)
    async for event in Agent(ScriptedModel(["Hello!"]), tools=tools()).stream("Hi"):
        print(shown(event), end="")
    return result


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        print(asyncio.run(main(Path(name))).output)
