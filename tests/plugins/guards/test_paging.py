"""Paging through results that were cut."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kit import call, go
from plugins.scenes import DIALECTS, TEXT_ONLY, answer_in, in_dialect, request_text, restarted
from treadle import Agent, ScriptedModel, ToolResponse, tool
from treadle._engine.requests.prefix import prefix_breaks
from treadle._types.messages import ImagePart, TextPart, ToolMessage, text_of

BOOK = "".join(f"line {number}\n" for number in range(2_000))


@tool(effect="pure")
async def read_book() -> str:
    """Read the book."""
    return BOOK


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_whole_text_can_be_read_page_by_page(dialect: str):
    def reader(request: Any) -> Any:
        text = request_text(request)
        if len(model.requests) == 1:
            return in_dialect(dialect, "read_book")
        result = re.search(r'read_more\(result="([^"]+)"', text)[1]
        shown = re.findall(r"\[characters (\d+) to (\d+) of (\d+); (.+?)\]\n", text)
        if not shown:
            return in_dialect(dialect, "read_more", result=result, offset=0)
        if shown[-1][3] == "this is the end":
            return answer_in(dialect, "read")
        return in_dialect(dialect, "read_more", result=result, offset=int(shown[-1][1]))

    model = ScriptedModel(reader, abilities={} if dialect == "native" else TEXT_ONLY)
    run = Agent(model, [read_book], dialect=dialect, max_observation_chars=5_000).start("q")
    result = await run
    assert result.answer == "read"
    pages = [step.observation.split("]\n", 1)[1] for step in result.steps if step.tool == "read_more"]
    assert "".join(pages) == BOOK
    assert all(len(step.observation) <= 5_000 for step in result.steps)
    assert result.metadata["truncated_observations"] == 1, "pages are not cut again"
    assert [why for _, why in run.state.conversation.breaks] == ["tools changed: a result was cut"]
    assert prefix_breaks(model.requests, run.records) == []


def test_the_tool_is_not_offered_before_something_was_cut():
    model = ScriptedModel([call("read_book"), "done"])
    result = go(Agent(model, [read_book], max_observation_chars=50_000).run("q"))
    assert [tool.name for tool in model.requests[-1].tools] == ["read_book"]
    assert result.metadata["breaks"] == []


def test_the_limit_holds_with_the_hint_in_it():
    model = ScriptedModel([call("read_book"), "done"])
    go(Agent(model, [read_book], max_observation_chars=300).run("q"))
    shown = next(text_of(m.content) for m in model.requests[-1].messages if isinstance(m, ToolMessage))
    assert len(shown) <= 300
    assert 'read_more(result="' in shown
    tiny = ScriptedModel([call("read_book"), "done"])
    go(Agent(tiny, [read_book], max_observation_chars=20).run("q"))
    assert all(len(text_of(m.content)) <= 20 for m in tiny.requests[-1].messages if isinstance(m, ToolMessage))


def test_a_wrong_id_is_told():
    model = ScriptedModel([call("read_book"), call("read_more", result="nope"), "done"])
    result = go(Agent(model, [read_book], max_observation_chars=1_000).run("q"))
    assert "no result 'nope'" in result.steps[1].observation


async def test_a_resumed_run_can_read_on():
    replies = [call("read_book"), call("read_more", result="call_1_0", offset=10), "done"]
    first = Agent(ScriptedModel(replies), [read_book], max_observation_chars=1_000)
    run = first.start("q")
    assert (await run).answer == "done"
    for records in range(1, len(run.records)):
        done = sum(type(record.event).__name__ == "ThinkDone" for record in run.records[:records])
        agent = Agent(ScriptedModel(replies[done:]), [read_book], max_observation_chars=1_000)
        result = await (await restarted(agent, run, records))
        assert result.answer == "done", records
        assert [step.error for step in result.steps] == ["", ""], records
        assert result.steps[1].observation.startswith("[characters 10 to"), records


def test_a_users_own_tool_of_that_name_comes_first():
    @tool
    async def read_more(page: int) -> str:
        """Mine."""
        return f"page {page}"

    model = ScriptedModel([call("read_book"), call("read_more", page=2), "done"])
    result = go(Agent(model, [read_book, read_more], max_observation_chars=1_000).run("q"))
    assert result.steps[1].observation == "page 2"
    assert "read_more(result" not in request_text(model.requests[-1])


def test_an_image_beside_a_long_text_stays():
    @tool(effect="pure")
    async def scan() -> ToolResponse:
        """Scan a page."""
        return ToolResponse((TextPart(BOOK), ImagePart(data="aGk=")))

    model = ScriptedModel([call("scan"), "done"])
    go(Agent(model, [scan], max_observation_chars=1_000).run("q"))
    shown = next(m.content for m in model.requests[-1].messages if isinstance(m, ToolMessage))
    assert [type(part) for part in shown] == [TextPart, ImagePart]
    assert len(shown[0].text) <= 1_000
    assert 'read_more(result="' in shown[0].text
