"""`@server:uri` in a question: read through the gate, and known to come from outside."""

from __future__ import annotations

from typing import Any

import pytest

from kit import go
from tools.mcp.test_resources import server
from treadle import Agent, McpTools, ScriptedModel
from treadle._journal.memory import MemoryJournal
from treadle._plugins.mcp_mentions import named_in
from treadle._types.messages import text_of
from treadle.events import ToolDone
from treadle.testing import assert_replays

pytest.importorskip("mcp")
QUESTION = "What does the lamp cost (@shop:shop://lamp)? Use @shop:prompt:review?what=it."


def asked(question: str, **options: Any) -> tuple[Any, Any]:
    async def main() -> tuple[Any, Any]:
        plugin = McpTools(server(), only=["none"], **options)
        model = ScriptedModel(["12 euros"])
        agent = Agent(model, None, plugins=[plugin], journal=MemoryJournal())
        run = agent.start(question)
        done: list[ToolDone] = []
        run.subscribe(lambda record: done.append(record.event) if isinstance(record.event, ToolDone) else None)
        result = await run
        await assert_replays(agent, result.run_id)
        await plugin.aclose()
        sent = "\n".join(text_of(getattr(m, "content", "")) for m in model.requests[-1].messages)
        return result, (sent, done)

    return go(main())


def test_what_a_question_names_is_read_through_the_gate_and_is_from_outside():
    result, (sent, done) = asked(QUESTION, mentions=True)
    assert result.answer == "12 euros"
    assert "The lamp costs 12 euros" in sent
    assert "Review it." in sent
    assert [event.source for event in done] == ["the MCP server shop"] * 2
    assert result.sources == ("the MCP server shop",)


def test_without_the_setting_it_is_a_word_like_any_other():
    result, (sent, done) = asked(QUESTION)
    assert result.sources == ()
    assert "The lamp costs 12 euros" not in sent
    assert not done


def test_what_cannot_be_read_is_said():
    _, (sent, done) = asked("And @shop:shop://nothing?", mentions=True)
    assert "there is no such thing" in sent
    assert [bool(event.error) for event in done] == [True]


def test_names_in_a_question():
    assert named_in("@shop:a://b, (@shop:c). @other:d x@shop:e @shop:a://b!", "shop") == ["a://b", "c"]
    assert len(named_in(" ".join(f"@shop:{n}" for n in range(50)), "shop")) == 8
