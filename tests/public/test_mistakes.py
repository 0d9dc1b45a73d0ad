"""What a stranger tries: each mistake is refused where it is made, with what to write instead."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from treadle import (
    Agent,
    Conversation,
    McpServer,
    McpTools,
    Plugin,
    ScriptedModel,
    ToolContext,
    TreadleError,
    builtin,
    open_journal,
    resolve_model,
    tool,
)
from treadle.plugins import Citations, Guardrail


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def plain(item: str) -> str:
    """Say it."""
    return item


class Shop:
    def price(self, item: str) -> float:
        """The price."""
        return 1.0


class Late(Plugin):
    name = "late"

    async def on_started(self, run: Any) -> None:
        """No such hook."""


class Blocking(Plugin):
    name = "blocking"

    def on_start(self, run: Any) -> None:  # type: ignore[override]
        """Not async."""


@dataclass
class City:
    name: str


class OpenAI:
    """A client of another library."""


def agent(tools: Any = None, **options: Any) -> Agent[Any, Any]:
    return Agent(ScriptedModel(lambda request: "Hi."), tools, **options)


async def coroutine() -> None:
    """Called, where the function was meant."""


def decorated(**options: Any) -> Callable[[], object]:
    return lambda: tool(plain, **options)  # pyright: ignore


def asked_about() -> Agent[Any, Any]:
    return Agent(ScriptedModel([{"name": "add", "args": {"a": 1, "b": 2}}, "3"]), [add], ask=["add"])


@tool
def needing(context: ToolContext[int]) -> int:
    """Needs deps."""
    return context.deps


def untypable(item: object()) -> None:  # type: ignore[valid-type]
    """What is this?"""


def scattered(*items: str) -> None:
    """Values without names."""


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    # tools
    "a name for a list": (lambda: agent("calculator"), r"tools=\['calculator'\]"),
    "a tool for a list": (lambda: agent(add), r"write tools=\[add\]"),
    "a function for a list": (lambda: agent(plain), r"write tools=\[plain\]"),
    "a dictionary for a list": (lambda: agent({"add": add}), r"write tools=\[add\]"),
    "a built-in misspelt": (lambda: agent(["calculater"]), "did you mean 'calculator'"),
    "a schema for a tool": (lambda: agent([{"type": "function"}]), r"external_tool\(name, description, parameters\)"),
    "a number for a tool": (lambda: agent([3]), "a tool must be .*a function"),
    "a class for a tool": (lambda: agent([Shop]), "pass an instance"),
    "an object for a tool": (lambda: agent([Shop()]), "a tool must be"),
    "a method without its object": (lambda: agent([Shop.price]), r"tool\(obj.method\)"),
    "a lambda": (lambda: agent([lambda item: item]), "write a function with def"),
    "two of one name": (lambda: agent([add, add]), "rename one"),
    "a server for a tool": (lambda: agent([McpServer("shop", command="shop")]), r"plugins=\[McpTools\(server\)\]"),
    "a plug-in for a tool": (lambda: agent([McpTools(McpServer("s", command="s"))]), r"plugins=\[McpTools"),
    "a call for a function": (lambda: agent([coroutine()]), "the function itself, coroutine"),
    "values without names": (lambda: tool(scattered), r"items: list\[str\]"),
    "no such type": (lambda: tool(untypable), "Annotate it with JSON types"),
    "an option misspelt": (decorated(time_out=3), "did you mean 'timeout'"),
    "an option that is none": (decorated(colour=3), "expected one of: name, description, timeout"),
    "a timeout below zero": (decorated(timeout=-1), "above 0, or None"),
    "a name with a space": (decorated(name="my tool"), "my_tool"),
    "an effect that is none": (lambda: agent([tool(plain, effect="none")]), "pure, idempotent, unsafe"),  # pyright: ignore
    "an approval that is none": (lambda: agent([tool(plain, approval="always")]), "approval must be one of"),  # pyright: ignore
    "text for a function": (lambda: tool("add"), "takes a function"),  # pyright: ignore
    "no such built-in": (lambda: builtin("serch"), "expected one of: a2a, arxiv"),
    # models
    "no model": (lambda: resolve_model(None), "'provider:model'"),  # pyright: ignore
    "a bare name": (lambda: resolve_model("gpt-5-mini"), "'openai:gpt-5-mini'"),
    "a provider misspelt": (lambda: resolve_model("opnai:gpt-5"), "did you mean openai"),
    "a slash": (lambda: resolve_model("openai/gpt-5"), "such as 'openai:gpt-5'"),
    "an empty name": (lambda: resolve_model(""), "'provider:model'"),
    "a provider alone": (lambda: resolve_model("openai:"), "names no model"),
    "a class for a model": (lambda: resolve_model(ScriptedModel), r"write ScriptedModel\(\.\.\.\)"),  # pyright: ignore
    "a function for a model": (lambda: resolve_model(plain), r"FunctionModel\(function\)"),  # pyright: ignore
    "a client for a model": (lambda: resolve_model(OpenAI()), "'openai:MODEL'"),  # pyright: ignore
    "no such local model": (lambda: resolve_model("local:nothing"), "qwen2.5-coder"),
    "no key": (lambda: resolve_model("openai:gpt-5-mini"), "set OPENAI_API_KEY"),
    # scripts
    "text for a script": (lambda: ScriptedModel("hello"), r"write ScriptedModel\(\[\.\.\.\]\)"),
    "a call without a name": (lambda: ScriptedModel([{"tool": "add"}]), '"name": "tool"'),
    "a number for a reply": (lambda: ScriptedModel(["a", 5]), "entry 1 of the script cannot be int: write text"),
    # keywords
    "a setting misspelt": (lambda: agent(temprature=0.1), "did you mean 'temperature'"),
    "a setting of a run misspelt": (lambda: agent().run_sync("?", max_iteration=3), "did you mean 'max_iterations'"),
    "system_prompt": (lambda: agent(system_prompt="x"), "write system="),
    "result_type": (lambda: agent(result_type=int), "write output_type="),
    "memory": (lambda: agent(memory=True), r"plugins=\[Memory\(\)\]"),
    "output_validator": (lambda: agent(output_validator=plain), "a type that checks itself"),
    "max_turns": (lambda: agent(max_turns=3), "write max_iterations="),
    "stream=True": (lambda: agent().run_sync("?", stream=True), r"agent.stream\(question\)"),
    "override misspelt": (lambda: agent().override(modle="x").__enter__(), "did you mean 'model'"),
    "text for a number": (lambda: agent(max_iterations="ten"), "max_iterations"),
    "zero iterations": (lambda: agent(max_iterations=0), "at least 1"),
    "a value that is none": (lambda: agent(on_limit="stop"), "expected one of: fallback, raise, force_answer, salvage"),
    "a number for a budget": (lambda: agent(budget=5), r"budget=Budget\(tokens="),
    "a number for a policy": (lambda: agent(retry=5), r"retry=RetryPolicy\(attempts="),
    "text for a list of names": (lambda: agent([add], ask="add"), r"ask=\['pay'\]"),
    "no such dialect": (lambda: agent(dialect="xml"), "expected one of: native"),
    "no such preset": (lambda: agent(preset="plan"), "did you mean 'planned'"),
    "no such prompt": (lambda: agent(prompts={"sintesis": "x"}), "did you mean 'synthesis'"),
    "a text for fallbacks": (lambda: agent(fallbacks="openai:gpt-5"), r"fallbacks=\['openai:gpt-5'\]"),
    "a number for a prompt": (lambda: agent(system=5), "system is text, or a function"),
    "True for a journal": (lambda: agent(journal=True), 'journal="runs.db"'),
    "no such journal": (lambda: open_journal("mysql://x"), "postgres://"),
    "no such skill": (lambda: agent(skills=["/nonexistent"]), "SKILL.md"),
    # plug-ins
    "a class for a plug-in": (lambda: agent(plugins=[Citations]), r"write Citations\(\)"),
    "a name for a plug-in": (lambda: agent(plugins=["planner"]), "from treadle.plugins import"),
    "a plug-in for a list": (lambda: agent(plugins=Plugin()), r"plugins=\["),
    "an object for a plug-in": (lambda: agent(plugins=[object()]), "subclass treadle.Plugin"),
    "a hook that is not async": (lambda: agent(plugins=[Blocking()]), "write async def on_start"),
    "a hook misspelt": (lambda: agent(plugins=[Late()]), "did you mean 'on_start'"),
    "a check that is not async": (lambda: Guardrail(lambda text: ""), r"async def check\(guard, run, text\)"),  # pyright: ignore
    # questions, answers, runs
    "no question": (lambda: agent().run_sync(None), "give text"),
    "an empty question": (lambda: agent().run_sync(" "), "the prompt is empty"),
    "messages for a question": (lambda: agent().run_sync([{"role": "user", "content": "?"}]), r"history=\[\.\.\.\]"),
    "texts for a history": (lambda: agent().run_sync("?", history=["a"]), '"role": "user"'),
    "a result for a history": (lambda: agent().run_sync("?", history=agent().run_sync("?")), "history=result.messages"),  # pyright: ignore
    "an object for a type": (
        lambda: agent(output_type=City("Oslo")),
        "cannot be City object: give a class",
    ),
    "a name for a type": (lambda: agent(output_type="City"), "output_type cannot be 'City'"),
    "a class without fields": (lambda: agent(output_type=Shop), "dataclass, pydantic model"),
    "start without a loop": (lambda: agent().start("?"), r"use agent.run_sync\(question\)"),
    "no such run": (lambda: agent().resume_sync("x"), "give the agent the journal"),
    "no such call": (
        lambda: (a := asked_about()).resume_sync(a.run_sync("?"), approve={"x": True}),
        "waiting: call_1_0",
    ),
    "yes for True": (
        lambda: (a := asked_about()).resume_sync(a.run_sync("?"), approve={"call_1_0": "yes"}),  # pyright: ignore
        "must be True, False",
    ),
    "no deps": (lambda: agent([needing]).run_sync("?"), r"agent.run\(question, deps=\.\.\.\)"),
    "other deps": (lambda: agent(deps_type=int).run_sync("?", deps="a"), "deps_type int"),
    "a name for an agent": (lambda: Conversation("x"), r"Conversation\(agent, id\)"),  # pyright: ignore
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_what_to_write(mistake: str):
    make, told = MISTAKES[mistake]
    with pytest.raises((TreadleError, TypeError), match=told):
        make()


def test_there_are_about_seventy():
    assert len(MISTAKES) >= 70


def test_a_secret_that_is_no_list_is_not_repeated_in_the_error():
    with pytest.raises(TreadleError) as told:
        agent(secrets="hunter2")
    assert "hunter2" not in str(told.value)


def test_a_name_to_ask_about_that_no_tool_has_is_told(caplog: pytest.LogCaptureFixture):
    agent([add], ask=["ad"])
    agent([add], ask=["add", "all"])
    (line,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "did you mean 'add'?" in line


def test_a_result_stands_for_its_run():
    paused = (one := asked_about()).run_sync("1 + 2?")
    assert one.resume_sync(paused, approve=True).answer == "3"
