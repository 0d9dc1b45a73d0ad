"""What a program gives its runs reaches tools, plug-ins and instructions, and neither the model nor the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit import call, echo
from treadle import Agent, BaseTool, ConfigError, DagAgent, RunContext, ScriptedModel, ToolContext, ToolSpec, tool
from treadle.messages import ToolCall
from treadle.plugins import Plugin, ToolOutcome

SECRET = "the-password-of-the-shop"


class Shop:
    password = SECRET

    def price(self, item: str) -> int:
        return len(item)


@tool
def price(item: str, context: ToolContext[Shop]) -> int:
    """The price of an item."""
    return context.deps.price(item)


@tool
def anything(context: ToolContext) -> str:
    """Read whatever there is."""
    return str(context.deps)


@tool
def optional(context: ToolContext[Shop | None]) -> str:
    """Read what there may be."""
    return "none" if context.deps is None else "some"


def asking(*names: str) -> ScriptedModel:
    calls = [call(name, item="lamp") if name == "price" else call(name) for name in names]
    return ScriptedModel([*calls, "done"])


async def test_a_tool_gets_them_and_neither_the_model_nor_the_log_does(tmp_path: Path):
    model = asking("price")
    agent = Agent(model, [price], journal=tmp_path / "runs.db", deps_type=Shop)
    async with agent:
        result = await agent.run("q", deps=Shop(), run_id="r1")
    assert result.steps[0].observation == "4"
    assert "deps" not in str(price.schema)
    assert "context" not in str(price.schema)
    assert SECRET not in str(model.requests)
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"password" not in stored
    assert b"Shop" not in stored


def test_a_run_without_what_a_tool_needs_does_not_start():
    agent = Agent(asking("price"), [price])
    with pytest.raises(ConfigError, match=r"tool 'price' needs deps \(Shop\).*agent.run\(question, deps="):
        agent.run_sync("q")
    assert agent.model.requests == []
    around = Agent(asking("inner"), [agent.as_tool("inner")])
    with pytest.raises(ConfigError, match=r"tool 'inner' needs deps \(Shop\)"):
        around.run_sync("q")


def test_a_class_of_tools_may_need_them_too():
    class Price(BaseTool):
        spec = ToolSpec("price", "The price.", inputs=[])

        def execute(self, context: ToolContext[Shop]) -> str:
            return str(context.deps.price("lamp"))

    assert Price().as_tool().needs_deps in ("Shop", "")


def test_a_tool_that_reads_what_is_missing_says_how_to_give_it():
    result = Agent(asking("anything"), [anything]).run_sync("q")
    assert "ConfigError" in result.steps[0].observation
    with_none = Agent(asking("optional"), [optional]).run_sync("q", deps=None)
    assert with_none.steps[0].observation == "none"


def test_the_wrong_type_is_refused():
    agent = Agent(asking("price"), [price], deps_type=Shop)
    with pytest.raises(ConfigError, match="deps must be of the agent's deps_type Shop, not str"):
        agent.run_sync("q", deps="shop")


class Watching(Plugin):
    seen: object = None

    async def before_tool(self, run: RunContext[Shop], call: ToolCall) -> ToolCall | ToolOutcome:
        self.seen = run.deps
        return call


def test_plugins_and_instructions_get_them():
    async def later(run: RunContext[Shop]) -> str:
        return f"A lamp costs {run.deps.price('lamp')}."

    shop, watching = Shop(), Watching()
    model = ScriptedModel([call("echo", text="x"), "done"])
    agent = Agent(
        model, [echo], system=lambda run: f"Shop {run.deps.price('a')}.", instructions=later, plugins=[watching]
    )
    agent.run_sync("q", deps=shop)
    assert watching.seen is shop
    assert model.requests[0].messages[0].text.startswith("Shop 1.\n\nA lamp costs 4.")


def test_instructions_that_are_no_text_are_refused():
    with pytest.raises(ConfigError, match="instructions must be text: the function <lambda> gave int"):
        Agent(ScriptedModel(["x"]), tools=None, instructions=lambda run: 5).run_sync("q")


async def test_instructions_are_recorded_and_not_made_again(tmp_path: Path):
    made: list[str] = []

    def instructions(run: RunContext) -> str:
        made.append(run.id)
        return f"number {len(made)}"

    model = ScriptedModel([call("echo", text="x"), "done"])
    async with Agent(model, [echo], instructions=instructions, journal=tmp_path / "r.db", ask=("all",)) as agent:
        assert (await agent.run("q", run_id="r1")).stop_reason == "paused"
        assert (await agent.resume("r1", approve=True)).answer == "done"
    assert made == ["r1"]
    assert "number 1" in str(model.requests[-1].messages)


async def test_resuming_needs_them_again(tmp_path: Path):
    async with Agent(asking("price"), [price.replace(approval="ask")], journal=tmp_path / "runs.db") as agent:
        await agent.run("q", deps=Shop(), run_id="r1")
        with pytest.raises(ConfigError, match=r"needs deps \(Shop\).*agent.resume\('r1', deps=...\)"):
            await agent.resume("r1", approve=True)
        result = await agent.resume("r1", approve=True, deps=Shop())
        assert result.steps[0].observation == "4"
        assert (await agent.resume("r1")).answer == "done"  # it is over: nothing needs them


def test_runs_inside_a_run_have_those_of_the_run():
    inner = Agent(asking("price"), [price], name="inner", deps=None)
    order = {"name": "inner", "args": {"user_prompt": "p", "reasoning": "r", "context": "c"}}
    outer = Agent(ScriptedModel([order, "done"]), [inner.as_tool()])
    assert outer.run_sync("q", deps=Shop()).answer == "done"
    assert "4" in str(inner.model.requests[-1].messages)


def test_a_plans_steps_have_those_of_the_plan():
    plan = '{"steps": [{"id": "a", "task": "ask the price", "dependencies": []}]}'
    verdict = '{"achieved": true, "confidence": 1.0, "final_answer": "four", "reasoning": ""}'
    model = ScriptedModel([plan, call("price", item="lamp"), "It costs 4.", verdict])
    result = DagAgent(model, [price]).run_sync("q", deps=Shop())
    assert [step.observation for step in result.steps] == ["4"]


def test_an_agents_own_value_is_for_runs_that_are_given_none():
    class Dear(Shop):
        def price(self, item: str) -> int:
            return 100

    agent = Agent(
        ScriptedModel([call("price", item="lamp"), "a", call("price", item="lamp"), "b"]), [price], deps=Dear()
    )
    assert agent.run_sync("q").steps[0].observation == "100"
    assert agent.run_sync("q", deps=Shop()).steps[0].observation == "4"
