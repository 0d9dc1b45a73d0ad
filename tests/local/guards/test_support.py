"""What the guards for small models share."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, echo, fail, go
from plugins.probe import Probe
from plugins.scenes import answer_in, in_dialect
from treadle import Agent, ScriptedModel
from treadle._local.guards.support import (
    call_wanted,
    prompt,
    require_other_tool,
    small_under_grammar,
    source_texts,
)
from treadle._types.events import ReplyConstrained
from treadle._types.messages import AssistantMessage, UserMessage


def run(look: Any, *, tools: Any = (echo, add), replies: Any = (), **options: Any) -> None:
    size = options.pop("size", {})
    model = ScriptedModel([*replies, answer_in("schema", "done")], abilities={"tool_call": False, **size})
    question = {"question": "the question", **options.pop("asked", {})}
    probe = Probe(look)
    go(Agent(model, list(tools), dialect="schema", plugins=[probe], **options).run(**question))
    probe.check()


def test_values_come_from_the_user_and_the_tools_not_from_the_model():
    texts: list[str] = []

    async def look(run: Any) -> None:
        texts.extend(source_texts(run))

    history = [UserMessage("an earlier question"), AssistantMessage("an earlier answer", dialect="native")]
    replies = [in_dialect("schema", "echo", text="a result"), "neither a call nor an answer {"]
    run(look, replies=replies, system="the system prompt", asked={"history": history})
    together = "\n".join(texts)
    for text in ("the question", "the system prompt", "an earlier question", "an earlier answer", "a result"):
        assert text in together
    assert "neither a call" not in together
    assert "done" not in together


@pytest.mark.parametrize(("tools", "harmless"), [((echo, add), True), ((echo, fail), False)])
def test_a_call_is_made_when_every_tool_can_be_run_again_and_else_a_thought(tools: Any, harmless: bool):
    seen: list[ReplyConstrained] = []

    async def look(run: Any) -> None:
        seen.append(call_wanted(run, "probe"))

    run(look, tools=tools)
    assert seen == [ReplyConstrained("probe", must_act=harmless, think=not harmless)]


@pytest.mark.parametrize(
    ("tools", "size", "expected"),
    [
        ((echo, add), {}, [ReplyConstrained("probe", True, ("echo",))]),
        ((echo, add), {"tiny": True}, [ReplyConstrained("probe", False, ("echo",))]),
        ((echo, fail), {}, [ReplyConstrained("probe", False, ("echo",), think=True)]),
        ((echo,), {}, []),
    ],
)
def test_another_tool_is_required_where_there_is_one(tools: Any, size: Any, expected: list[ReplyConstrained]):
    records: list[Any] = []

    async def look(run: Any) -> None:
        await require_other_tool(run, "probe", "echo")
        records.extend(run.records)

    run(look, tools=tools, size=size)
    assert [record.event for record in records if isinstance(record.event, ReplyConstrained)] == expected


def test_a_prompt_has_its_new_name_its_old_one_or_the_default():
    seen: list[str] = []

    names = {
        "give_up": "insist",
        "example_value": "borrowed",
        "unsourced_call": "invented_call",
        "unsourced_answer": "invented_answer",
        "untried": "invented_untried",
    }

    async def look(run: Any) -> None:
        seen.append(" ".join(prompt(run, name, "default") for name in names))

    old, new = dict.fromkeys(names.values(), "old"), dict.fromkeys(names, "new")
    for prompts in ({}, old, new, old | new):
        run(look, prompts=prompts)
    assert seen == [" ".join([word] * 5) for word in ("default", "old", "new", "new")]


def test_small_under_grammar():
    text = {"tool_call": False}
    for abilities, dialect, expected in (
        ({**text, "grammar": True, "parameters": 1.5}, "direct", True),
        ({**text, "grammar": True, "tiny": True}, "brief", True),
        ({**text, "grammar": True, "parameters": 4.0}, "direct", False),
        ({**text, "grammar": True}, "direct", False),
        ({**text, "json_schema": True, "parameters": 1.5}, "schema", False),
        ({"grammar": True, "parameters": 1.5}, "native", False),
    ):
        seen: list[bool] = []

        async def look(run: Any, seen: list[bool] = seen) -> None:
            seen.append(small_under_grammar(run))

        probe = Probe(look)
        model = ScriptedModel([answer_in(dialect, "done")], abilities=abilities)
        result = go(Agent(model, [echo], plugins=[probe]).run("q"))
        probe.check()
        assert (result.metadata["dialect"], seen) == (dialect, [expected]), abilities
