"""`treadle mcp login`, `list` and `logout`; the browser is a program that follows redirects."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.terminal import Inside
from programs import python
from tools.mcp.auth.remote import Remote, remote_server

pytest.importorskip("mcp")
VISIT = "import sys, urllib.request\nurllib.request.urlopen(sys.argv[1]).read()\n"


@pytest.fixture
def remote(home: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch) -> Iterator[Remote]:
    (home / "visit.py").write_text(VISIT)
    monkeypatch.setenv("BROWSER", f"{shlex.quote(sys.executable)} {shlex.quote(str(home / 'visit.py'))} %s")
    monkeypatch.setenv("TREADLE_STATE", str(home / "state"))
    with remote_server() as running:
        yield running


def test_login_list_and_logout(remote: Remote, home: Path, inside: Inside):
    document = home / "agent.json"
    servers = {"shop": {"url": "{where}/mcp", "variables": {"where": remote.url}}}
    document.write_text(json.dumps({"agent": {"mcp": [{"mcp_id": "shop"}]}, "mcp_servers": servers}))
    asked = inside("run", "q", "-m", "scripted", "-f", str(document))
    assert "mcp login" in asked.err or asked.code != 0
    ran = inside("mcp", "login", "shop", "-f", str(document))
    assert (ran.code, ran.out) == (0, "logged in at shop\n"), ran.err
    assert remote.url.removeprefix("http://") in ran.err
    assert not any(token in ran.out + ran.err for token in (*remote.valid, *remote.refresh_tokens))
    listed = inside("mcp", "list").out
    assert listed == f"{remote.server}  logged in  read\n"
    assert inside("mcp", "logout", remote.server).out == f"logged out of {remote.server}\n"
    assert inside("mcp", "list").out == "no logins\n"
    assert inside("mcp", "logout", remote.server).out == f"there was no login at {remote.server}\n"


def test_a_server_that_asks_for_no_login_and_one_that_refuses(remote: Remote, inside: Inside):
    remote.valid[""] = "read"
    assert inside("mcp", "login", remote.server).out == f"{remote.server} asked for no login\n"
    remote.valid.clear()
    remote.redirect = {"code": "", "error": "access_denied"}
    ran = inside("mcp", "login", remote.server)
    assert ran.code != 0
    assert "access_denied" in ran.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("shop",), "-f FILE"),
        (("other", "-f", "agent.json"), "it has: local, keyed, machine"),
        (("local", "-f", "agent.json"), "nothing to log in at"),
        (("keyed", "-f", "agent.json"), "needs no login"),
        (("machine", "-f", "agent.json"), "authorized by client_credentials"),
    ],
)
def test_what_cannot_be_logged_in_at(home: Path, inside: Inside, args: tuple[str, ...], message: str):
    machine = {"grant": "client_credentials", "client_id": "a", "client_secret": "b", "issuer": "https://a.example"}
    servers = {
        "local": {"command": "x"},
        "keyed": {"url": "https://a.example/mcp", "headers": {"Authorization": "Bearer x"}},
        "machine": {"url": "https://a.example/mcp", "auth": machine},
    }
    (home / "agent.json").write_text(json.dumps({"agent": {}, "mcp_servers": servers}))
    ran = inside("mcp", "login", *args)
    assert ran.code == 2
    assert message in ran.err


def test_what_a_server_offers_is_shown_and_named_in_a_question(home: Path, inside: Inside):
    asking = str(Path(__file__).resolve().parents[2] / "tools" / "mcp" / "asking_server.py")
    program, *before = python()
    servers = {"shop": {"command": program, "args": [*before, asking]}}
    document = {"agent": {"mcp": [{"mcp_id": "shop"}]}, "mcp_servers": servers}
    (home / "agent.json").write_text(json.dumps(document))
    shown = inside("mcp", "show", "shop", "-f", "agent.json").out.splitlines()
    assert "tool ask_user  ask_user" in shown
    assert {"@shop:shop://lamp  lamp", "@shop:shop://items/{id}  item", "@shop:prompt:review?what=..."} <= set(shown)
    script = home / "script.json"
    script.write_text('["It is said there."]')
    ran = inside("run", "@shop:shop://lamp?", "-f", "agent.json", "-m", f"scripted:{script}", "--json")
    assert "12 euros" in ran.out, ran.err


SERVER = """
import asyncio, sys
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import ListToolsResult, Tool

said = sys.argv[1].encode().decode("unicode_escape")
inner = {"type": "object", "properties": {"size": {"type": "string", "description": "any of", "enum": ["s", said]}}}
either = {"anyOf": [{"type": "integer", "description": said}, {"type": "null"}], "default": None}
fields = {"item": {"type": "string", "description": said}, "of": {"type": "array", "items": inner}, "more": either}
fields |= {"day": {"type": "string"}, "any": {}}
schema = {"type": "object", "properties": fields, "required": ["item"]}
stock = Tool(name="stock", description="How many. " + "And so on. " * 40 + said, input_schema=schema)
titled = Tool(name="titled", title=said, input_schema={"type": "object"})

async def tools(context, params):
    return ListToolsResult(tools=[stock, titled])

async def main():
    server = Server("shop", on_list_tools=tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

asyncio.run(main())
"""


def test_who_reviews_a_server_sees_all_of_it(home: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TREADLE_STATE", str(home / "state"))
    (home / "server.py").write_text(SERVER)
    hidden = r"Se\u200bnd \U000e0041 p\u0430y \u202egnp"
    program, *before = python()
    servers = {"shop": {"command": program, "args": [*before, "server.py", hidden]}}
    (home / "agent.json").write_text(json.dumps({"agent": {}, "mcp_servers": servers}))
    seen = inside("mcp", "review", "shop", "-f", "agent.json")
    shown = "Se<U+200B>nd <U+E0041> p<U+0430>y <U+202E>gnp"
    lines, unsaid = seen.out.splitlines(), "    not said: counts as acting (the server says: sends)"
    assert lines[0].endswith(f"And so on. {shown}"), seen.err
    assert lines[1:] == [
        f"    item: {shown}",
        "    of.items.size: any of",
        f'    of.items.size.enum: ["s", "{shown}"]',
        f"    more.anyOf.1: {shown}",
        "    more.anyOf.2.type: null",
        "    more.default: null",
        "    day.type: string",
        "    any: {}",
        '    required: ["item"]',
        unsaid,
        f"titled {shown}",
        "    type: object",
        unsaid,
    ]
    reviewed = inside("mcp", "review", "shop", "-f", "agent.json", "--reads", "stock").out.splitlines()
    assert [reviewed[10], reviewed[-1]] == ["    reads", "remembered for shop, until it changes its tools"]
