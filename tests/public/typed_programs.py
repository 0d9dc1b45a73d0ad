"""What users write, and what they write wrong. test_typed.py has pyright and mypy check it in strict mode: an error is
expected in each line that says so, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import assert_type

from treadle import (
    Agent,
    BatchAnswer,
    Budget,
    Conversation,
    DagAgent,
    Run,
    RunContext,
    RunResult,
    Settings,
    Tool,
    ToolContext,
    presets,
    tool,
)
from treadle.events import Event, ToolDone, ToolOutput, ToolStarted
from treadle.messages import Message
from treadle.plugins import Plugin
from treadle.testing import ScriptedModel

MODEL = ScriptedModel(["x"])


@dataclass
class City:
    name: str
    people: int


class Shop:
    def price(self, item: str) -> int:
        return len(item)


# ---- tools keep the signature of their function


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="pure", timeout=5)
async def price(item: str, context: ToolContext[Shop]) -> int:
    """The price of an item."""
    assert_type(context.deps, Shop)
    return context.deps.price(item)


assert_type(add(1, b=2), int)
add("one")  # wrong: str for int
add(1, c=2)  # wrong: no such parameter
add(1).upper()  # wrong: an int has no upper
tool(add, timout=5)  # wrong: timeout
tools: list[Tool] = [add, price]


# ---- agents and results know their type


def typed_output() -> None:
    agent = Agent(MODEL, tools=None, output_type=City)
    assert_type(agent.run_sync("q"), RunResult[City])
    assert_type(agent.run_sync("q").output.people, int)
    print(agent.run_sync("q").output.poeple)  # wrong: people
    numbers = Agent(MODEL, tools=None, output_type=list[int]).run_sync("q").output
    assert_type(numbers, list[int])
    planned = DagAgent(MODEL, tools=None, output_type=City)
    assert_type(planned.run_sync("q").output, City)
    assert_type(DagAgent(MODEL).run_sync("q").output, str)
    runs: list[Run[City]] = [agent.start("q")]
    others: list[Run[int]] = [agent.start("q")]  # wrong: Run[City]
    print(runs, others)


def plain_output() -> None:
    result = Agent(MODEL, tools).run_sync("q")
    assert_type(result.output, str)
    assert_type(result.answer, str)
    assert_type(result.cost, float | None)
    assert_type(result.new_messages, list[Message])
    assert_type(result.steps[0].exception, BaseException | None)
    assert_type(result.pending[0].name, str)
    print(result.trace())
    print(result.answr)  # wrong: answer
    result.answer = "x"  # wrong: results are frozen


def takes_any_agent(agent: Agent[City]) -> City:
    return agent.run_sync("q").output


takes_any_agent(Agent(MODEL, tools, output_type=City))
takes_any_agent(Agent(MODEL, tools))  # wrong: Agent[str]


async def talking(path: Path) -> None:
    talk = Conversation(Agent(MODEL, tools=None, output_type=City, journal=path))
    assert_type((await talk.ask("q")).output, City)
    assert_type(talk.ask_sync("q").output, City)
    assert_type(await talk.agent.batch(["q"]), list[BatchAnswer[City]])
    await talk.ask("q", temprature=0.1)  # wrong: temperature


# ---- settings are typed


def settings() -> None:
    agent = Agent(MODEL, ["calculator", add], temperature=0.2, max_iterations=5, budget=Budget(requests=3))
    Agent(MODEL, tools, temprature=0.2)  # wrong: temperature
    Agent(MODEL, tools, max_iterations="five")  # wrong: a number
    Agent(MODEL, tools, on_limit="explode")  # wrong: no such choice
    Agent(MODEL, [5])  # wrong: 5 is no tool
    mine = presets.Preset("mine", Settings(max_iterations=3))
    assert_type(Agent(MODEL, tools, preset=mine).preset, presets.Preset)
    Agent(MODEL, tools, preset="strict", output_type=City)
    Agent(MODEL, tools, preset="strickt")  # wrong: strict
    Agent(MODEL, tools, preset=Settings())  # wrong: settings alone are no preset
    chosen = input("preset: ")
    Agent(MODEL, tools, preset=chosen)  # wrong: any text at all
    Agent(MODEL, tools, preset=presets.get(chosen))
    agent.run_sync("q", max_tokens=100, history=[{"role": "user", "content": "Hello"}])
    agent.run_sync("q", max_token=100)  # wrong: max_tokens
    agent.stream("q", histroy=[])  # wrong: history
    with agent.override(model=ScriptedModel(["y"]), temperature=0.0) as same:
        assert_type(same.run_sync("q").output, str)


# ---- what the program gives its tools


def instructions(run: RunContext[Shop]) -> str:
    return f"A lamp costs {run.deps.price('lamp')}."


def deps() -> None:
    agent = Agent(MODEL, [price], deps_type=Shop, instructions=instructions)
    assert_type(agent, Agent[str, Shop])
    agent.run_sync("q", deps=Shop())
    agent.run_sync("q", deps="shop")  # wrong: a Shop


# ---- events and messages


def shown(event: Event) -> str:
    if isinstance(event, ToolStarted | ToolDone | ToolOutput):
        return f"{event.call_id}: {event.name}"
    return event.name  # wrong: not every event has a name


def roles(messages: list[Message]) -> list[str]:
    if messages[0].role == "robot":  # wrong: no such role
        return []
    return [message.role for message in messages]


class Careful(Plugin):
    async def on_end(self, run: RunContext, result: RunResult[City]) -> None:
        print(run.id, result.answer)
