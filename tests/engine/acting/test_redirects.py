"""A redirect leads to another address: a call of its own, which the same gate judges."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from aiohttp import web

from kit import call, go
from tools.builtin.loopback import Site, serving
from treadle import Agent, ScriptedModel, tool
from treadle._journal.memory import MemoryJournal
from treadle._tools.builtin.web.http_fetch import http_fetch
from treadle._types.events import ToolDone

SECRET = "salary 123456"


def to(target: Callable[[], str]) -> Callable[[web.Request], web.Response]:
    return lambda _: web.Response(status=302, headers={"Location": target()})


def on_the_web(play: Callable[[Any, list[Site]], Any], leads: list[int] | None = None) -> None:
    """Three servers: the first redirects from `/` to the one that `leads` says."""
    leads = leads or [1]

    async def main() -> None:
        async with AsyncExitStack() as stack:
            sites: list[Site] = []

            def at(number: int, path: str) -> str:
                return sites[number].url + path

            pages: list[dict[str, Any]] = [
                {"/": to(lambda: at(leads[0], "/")), "/here": to(lambda: "/there"), "/there": "there",
                 "/loop": to(lambda: at(1, "/loop"))},
                {"/": "the second", "/loop": to(lambda: at(0, "/loop"))},
                {"/": "the third"},
            ]  # fmt: skip
            sites += [await stack.enter_async_context(serving(one)) for one in pages]
            await play(reader, sites)

    def reader(*script: Any, **settings: Any) -> tuple[Agent, list[str]]:
        sent: list[str] = []

        @tool(untrusted="{path}", effect="pure")
        async def read_file(path: str) -> str:
            """Read a file."""
            return SECRET

        @tool(effect="unsafe")
        async def post(text: str) -> str:
            """Post."""
            sent.append(text)
            return "posted"

        tools = [http_fetch(allow_private=True), read_file, post]
        settings = {"provenance": "ask", "journal": MemoryJournal(), **settings}
        return Agent(ScriptedModel([*script, "done"]), tools, **settings), sent

    go(main())


def fetch(site: Site, path: str = "/") -> Any:
    return call("http_fetch", url=site.url + path)


READ_FILE = call("read_file", path="a")


def source(site: Site) -> dict[str, Any]:
    return {"tool": "http_fetch", "args": {"url": {"is": [site.url + "/"]}}}


@pytest.mark.parametrize("named", [1, 2])
def test_with_an_intent_it_is_an_address_like_any_other(named: int):
    async def play(reader: Any, sites: list[Site]) -> None:
        first, second, _ = sites
        agent, _ = reader(READ_FILE, fetch(first), may={"read": ["read_file", *map(source, sites[:named])]})
        result = await agent.run("Read the page")
        if named == 1:
            assert (result.stop_reason, second.requests) == ("paused", [])
            assert [(one.tool, one.args["url"]) for one in result.pending] == [("http_fetch", second.url + "/")]
            assert "could carry away" in result.pending[0].why
            result = await agent.resume(result.run_id, approve=True)
        assert (result.stop_reason, len(second.requests)) == ("answer", 1)
        made = (await agent.load(result.run_id)).records
        assert [r.event.executed for r in made if isinstance(r.event, ToolDone)] == [True, True, True]

    on_the_web(play)


def test_a_yes_is_for_the_address_that_was_shown():
    leads = [1]

    async def play(reader: Any, sites: list[Site]) -> None:
        first, _, third = sites
        agent, _ = reader(READ_FILE, fetch(first), may={"read": ["read_file", source(first)]})
        result = await agent.run("Read the page")
        leads[0] = 2
        result = await agent.resume(result.run_id, approve=True)
        assert (result.stop_reason, third.requests) == ("paused", [])
        assert result.pending[0].args["url"] == third.url + "/"

    on_the_web(play, leads=leads)


@pytest.mark.parametrize("policy", ["ask", "deny"])
@pytest.mark.parametrize("private", [False, True])
def test_without_one_it_is_followed_where_it_tells_nothing(private: bool, policy: str):
    async def play(reader: Any, sites: list[Site]) -> None:
        first, second, _ = sites
        before = [READ_FILE] if private else [fetch(second)]
        agent, _ = reader(*before, fetch(first), provenance=policy)
        result = await agent.run(f"Read the file a and {first.url}/")
        assert (result.stop_reason == "paused") is (private and policy == "ask")
        assert len(second.requests) == (0 if private else 2)

    on_the_web(play)


def test_what_it_leads_to_is_not_the_page_that_was_named():
    async def play(reader: Any, sites: list[Site]) -> None:
        first, second, _ = sites
        free = {"tool": "post", "args": {"text": {"any": [source(first)]}}}
        may = {"read": [source(first), source(second)], "act": [free]}
        agent, sent = reader(fetch(first), call("post", text="the second"), may=may)
        assert ((await agent.run("Post it")).stop_reason, sent) == ("paused", [])

    on_the_web(play)


def test_on_the_same_server_it_is_the_same_page_and_a_circle_ends():
    async def play(reader: Any, sites: list[Site]) -> None:
        first = sites[0]
        may = {"read": [{"tool": "http_fetch", "args": {"url": {"is": [first.url + "/here"]}}}]}
        agent, _ = reader(fetch(first, "/here"), may=may)
        assert "there" in (await agent.run("Read it")).steps[0].observation
        agent, _ = reader(fetch(first, "/loop"), provenance="off")
        result = await agent.run("Read it")
        assert "redirected more than" in result.steps[0].observation
        assert len(first.requests) + len(sites[1].requests) < 12

    on_the_web(play)
