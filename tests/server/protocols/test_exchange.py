"""What all protocols have in common."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import add, call
from server.protocols.facades import FACADES
from server.serving import Gate, PacedModel, relaxed, serving
from treadle import Agent, RetryPolicy, ScriptedModel, ToolContext, tool
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._plugins.code import CodeMode
from treadle._server.protocols.exchange import Cut
from treadle._types.errors import RequestRefusedError, TransientModelError

QUESTION = {"role": "user", "content": "?"}


@pytest.mark.parametrize("protocol", FACADES)
def test_words_are_sent_as_they_are_written(protocol: str):
    path, body = FACADES[protocol]
    model = PacedModel(["First words and last words."], chunk=12)
    gate = model.hold()
    with serving({"worker": Agent(model, tools=None)}) as client:
        connection = client.posting(path, body)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        before = b""
        while b"First words" not in before:
            line = response.readline()
            assert line, before
            before += line
        assert not gate._open.is_set(), "the reply was not complete yet"
        gate.open()
        after = response.read()
        connection.close()
        assert b"last words" in before + after


CHOICE = {name: FACADES[name] for name in ("chat completions", "responses", "anthropic")}
"""Those whose clients choose whether the answer is streamed."""


@pytest.mark.parametrize("protocol", CHOICE)
@pytest.mark.parametrize("error", [TransientModelError("busy", status=529), RequestRefusedError("no", status=400)])
@pytest.mark.parametrize("acted", [False, True])
def test_a_failure_before_the_first_word_has_the_status_that_it_has_without_a_stream(
    protocol: str, error: Exception, acted: bool
):
    path, body = CHOICE[protocol]
    model = ScriptedModel([call("add", a=2, b=3), error] * 2 if acted else [error] * 2)
    with serving({"worker": Agent(model, [add], retry=RetryPolicy(attempts=1))}) as client:
        streamed, whole = (client.ask("POST", path, {**body, "stream": stream}) for stream in (True, False))
        if acted and protocol == "responses":  # which shows the call, and has begun with it
            assert (streamed.status, str(error) in streamed.data.decode()) == (200, True)
            return
        told = [
            (one.status, one.json, one.headers["content-type"], one.headers.get("x-should-retry"))
            for one in (streamed, whole)
        ]
        assert told[0] == told[1]
        assert streamed.status == (503 if isinstance(error, TransientModelError) else 424)
        metrics = client.ask("GET", "/metrics").data.decode()
        assert f'status="{whole.status}"}} 2' in metrics
        assert "treadle_streams_live 0" in metrics


@pytest.mark.parametrize("protocol", FACADES)
def test_a_stream_is_kept_open_while_the_run_does_what_is_not_shown(protocol: str):
    gate = Gate()

    @tool
    async def busy(context: ToolContext) -> str:
        """Say much to nobody."""
        while not gate._open.is_set():
            context.output("busy ")
            await asyncio.sleep(0.002)
        return "done"

    path, body = FACADES[protocol]
    agent = Agent(ScriptedModel([call("busy"), "It is done."]), [busy])
    with serving({"worker": agent}, settings=relaxed(heartbeat=0.15)) as client:
        connection = client.posting(path, body)
        response = connection.getresponse()
        lines = iter(response.readline, b"")
        alive = (line for line in lines if line == b":\n" or b'"ping"' in line)
        assert len(list(islice(alive, 4))) == 4, "more than there was time for before it was busy"
        gate.open()
        assert b"It is done." in response.read()
        connection.close()


class LateTools(Plugin):
    """Brings its tool when the run has begun, as an MCP server does."""

    brings_tools = True

    async def on_start(self, run: RunContext[Any]) -> None:
        run.replace_toolkit(run.toolkit + [add])
        await run.offer_tools([*(tool.name for tool in run.state.tools), "add"], "late")


@pytest.mark.parametrize("plugin", [LateTools(), CodeMode()])
def test_a_client_cannot_bring_a_tool_that_the_agent_gets(plugin: Plugin):
    name = "python" if isinstance(plugin, CodeMode) else "add"
    tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}]
    model = ScriptedModel(["done"])
    with serving({"worker": Agent(model, tools=None, plugins=[plugin])}) as client:
        body = {"model": "worker", "messages": [QUESTION], "tools": tools}
        refused = client.ask("POST", "/v1/chat/completions", body)
        assert (refused.status, model.requests) == (400, [])
        assert f"the tool '{name}' was brought for this run" in refused.json["error"]["message"]
        assert client.ask("POST", "/v1/chat/completions", {**body, "tools": []}).status == 200


@pytest.mark.parametrize("protocol", FACADES)
def test_every_protocol_is_behind_the_same_door(protocol: str):
    path, body = FACADES[protocol]
    with serving({"worker": Agent(PacedModel(["x"]), tools=None)}, tokens={"a-token-of-some-length": "ann"}) as client:
        assert client.ask("POST", path, body).status == 401
        client.token = "a-token-of-some-length"
        assert client.ask("POST", path, body, origin="https://elsewhere.example").status == 403
        assert client.ask("POST", path, raw=b"{").status == 400
        assert client.ask("POST", path, raw=b"x=1", content_type="text/plain").status == 415
        assert client.ask("POST", path, raw=b"[" * 100_000).status == 400
        assert client.ask("POST", path, body, content_encoding="gzip").status == 415
        assert client.ask("GET", path).status in (404, 405)


@given(st.text("abEND ", max_size=30), st.text("abEND", min_size=1, max_size=4), st.data())
def test_text_is_cut_the_same_however_it_arrives(text: str, stop: str, data: st.DataObject):
    cut, shown, rest = Cut([stop]), "", text
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        shown += cut.feed(rest[:size])
        assert text.partition(stop)[0].startswith(shown), "nothing is given that has to be taken back"
        rest = rest[size:]
    assert shown + cut.feed("", last=True) == text.partition(stop)[0]


def test_the_first_of_several_stop_sequences_counts():
    assert Cut(["three", "two", ""]).feed("one two three", last=True) == "one "
    assert Cut([]).feed("all of it") == "all of it"
