"""`treadle mcp login`, `logout`, `list`, `show` and `review`: logging in at remote MCP servers, and what they offer."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from treadle._cli.setup.options import flag, port, repeatable
from treadle._types.errors import ConfigError

if TYPE_CHECKING:
    from treadle._safety.trust import Kind
    from treadle._tools.mcp.client import McpServer

_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")


def register(actions: Any) -> None:
    login = actions.add_parser(
        "login",
        help="log in at a remote MCP server",
        description="Log in at a remote MCP server in a browser (OAuth 2.1), for every later run.",
    )
    _add_server(login)
    login.add_argument("--scope", default="", help="the rights to ask for, instead of those the server names")
    flag(login, "--no-browser", help="only print the address to open")
    login.add_argument("--port", type=port, default=0, help="the port on 127.0.0.1 that the login comes back to (any)")
    _add_server(actions.add_parser("logout", help="forget a login", description="Forget the tokens of a server."))
    line = "The tools of a server, and its resources and prompts as they are named in a question."
    _add_server(actions.add_parser("show", help="what a server offers", description=line))
    review = actions.add_parser(
        "review",
        help="say what the tools of a server do",
        description="Say once what each tool of a server does; until then, and after every change of it, it counts as "
        "one that acts.",
    )
    _add_server(review)
    for option, line in (
        ("--reads", "tools that only read; * for all that are not named"),
        ("--safe", "tools that change something, where twice is the same as once"),
        ("--changes", "tools that change something"),
        ("--sends", "tools that send something to somebody"),
    ):
        repeatable(review, option, metavar="TOOL", help=line)
    actions.add_parser("list", help="list the logins", description="List the servers you are logged in at.")


def _add_server(parser: Any) -> None:
    parser.add_argument("server", metavar="SERVER", help="its address, or with -f its name under `mcp_servers`")
    parser.add_argument("-f", "--file", metavar="FILE", help="the document that names the server")


def run(args: argparse.Namespace) -> int:
    if args.action == "list":
        return _list()
    server = _find(args)
    if args.action == "show":
        return _show(server)
    if args.action == "review":
        return _review(server, args)
    if not server.endpoint.url:
        raise ConfigError(f"the MCP server {args.server!r} is started by a command, so there is nothing to log in at")
    if args.action == "logout":
        gone = server.forget_login()
        print(f"logged out of {args.server}" if gone else f"there was no login at {args.server}")
        return 0
    return _login(server, args)


def _login(server: McpServer, args: argparse.Namespace) -> int:
    from treadle._cli.driving.interrupts import run_async

    opening: list[Any] = []

    async def show(address: str) -> None:
        import asyncio
        import webbrowser

        print(f"Log in at {urlsplit(address).netloc} by opening this address:\n\n{address}\n", file=sys.stderr)
        if not args.no_browser:
            # Not awaited: a browser in the terminal ends only after the login has come back here.
            opening.append(asyncio.ensure_future(asyncio.to_thread(webbrowser.open, address)))

    logged_in = run_async(server.log_in(show, scope=args.scope, port=args.port))
    print(f"logged in at {args.server}" if logged_in else f"{args.server} asked for no login")
    return 0


def _find(args: argparse.Namespace) -> McpServer:
    from treadle._tools.mcp.client import McpServer

    if args.file:
        from treadle._config.document import read_document
        from treadle._plugins.mcp import McpTools

        servers = read_document(args.file).mcp_servers
        if args.server not in servers:
            raise ConfigError(f"{args.file} has no MCP server {args.server!r}; it has: {', '.join(servers) or 'none'}")
        return McpTools.from_settings(args.server, servers[args.server]).connection
    address = urlsplit(str(args.server))
    if address.scheme not in ("http", "https"):
        raise ConfigError(f"{args.server!r} is no address; give the document that names it: -f FILE")
    return McpServer(address.hostname or "server", url=args.server)


def _show(server: McpServer) -> int:
    from treadle._cli.display.text import one_line
    from treadle._cli.driving.interrupts import run_async

    async def listed() -> list[tuple[str, str]]:
        try:
            lines = [(f"tool {tool.name}", tool.description or "") for tool in await server.listed()]
            for resource in await server.resources():
                address = getattr(resource, "uri", None) or getattr(resource, "uri_template", "")
                lines.append((f"@{server.name}:{address}", resource.description or resource.name))
            for prompt in await server.prompts():
                arguments = "&".join(f"{argument.name}=..." for argument in prompt.arguments or ())
                name = f"{prompt.name}?{arguments}" if arguments else prompt.name
                lines.append((f"@{server.name}:prompt:{name}", prompt.description or ""))
            return lines
        finally:
            await server.close()

    for name, description in run_async(listed()):
        print(f"{one_line(name, 100)}  {one_line(description, 200)}".rstrip())
    return 0


def _review(server: McpServer, args: argparse.Namespace) -> int:
    from treadle._cli.display.text import one_line
    from treadle._cli.driving.interrupts import run_async
    from treadle._tools.mcp.review import accept, suggested

    async def listed() -> Any:
        try:
            return await server.listed()
        finally:
            await server.close()

    tools: Any = run_async(listed())
    named_kinds: dict[Kind, list[str]] = {
        "reads": args.reads, "changes safely": args.safe, "changes": args.changes, "sends": args.sends,
    }  # fmt: skip
    names = {tool.name for tool in tools}
    if wrong := sorted({name for named in named_kinds.values() for name in named} - names - {"*"}):
        raise ConfigError(f"{args.server} has no tool {wrong[0]!r}; it has: {', '.join(sorted(names))}")
    decided = not any(named_kinds.values()) and sys.stdin.isatty()
    kinds: dict[str, Kind] = {}
    for tool in tools:
        matching: list[Kind] = [
            kind for wanted in (tool.name, "*") for kind, named in named_kinds.items() if wanted in named
        ]
        chosen: Kind | None = matching[0] if matching else None
        print("\n    ".join(_whole(tool)))
        if decided:
            chosen = _kind(suggested(tool))
        if chosen is not None:
            kinds[tool.name] = chosen
        print(f"    {chosen or f'not said: counts as acting (the server says: {suggested(tool)})'}")
    if kinds:
        accept(server.name, server.endpoint, tools, kinds)
        print(f"remembered for {one_line(server.name, 60)}, until it changes its tools")
    return 0


def _whole(tool: Any) -> list[str]:
    """All that a model reads of a tool: who says what it does has seen it, with what no screen shows written out."""
    from treadle._safety.hidden import visible

    lines = [f"{tool.name}  {tool.description or tool.title or ''}", *_texts("", tool.input_schema)]
    return [visible(" ".join(line.split())) for line in lines]


def _texts(place: str, value: Any) -> Iterator[str]:
    """Each value of a schema at its place, under whatever keyword it stands: a model reads them all."""
    if isinstance(value, list) and any(isinstance(one, dict | list) for one in cast("list[Any]", value)):
        value = {str(number): one for number, one in enumerate(cast("list[Any]", value), 1)}
    if not isinstance(value, dict) or not value:
        yield f"{place}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        return
    fields = cast("dict[str, Any]", value)
    for key, inner in fields.items():
        if key != "type" or inner not in _TYPES or len(fields) == 1:
            unnamed = isinstance(inner, {"properties": dict, "description": str}.get(key, ()))
            yield from _texts(place if unnamed else f"{place}.{key}".lstrip("."), inner)


def _kind(suggestion: Kind) -> Kind | None:
    """Ask a person what a tool does; only a whole answer counts."""
    from treadle._tools.mcp.review import EFFECTS

    answer = input(f"    reads, changes safely, changes or sends? (the server says: {suggestion}) ").strip()
    return next((kind for kind in EFFECTS if kind == answer), None)


def _list() -> int:
    import time

    from treadle._tools.mcp.auth.store import logins

    entries = list(logins())
    for login in entries:
        expired = login.expires_at is not None and login.expires_at < time.time()
        state = "expired, will be refreshed" if expired and "refresh_token" in login.tokens else "expired"
        print(f"{login.server}  {state if expired else 'logged in'}  {login.tokens.get('scope') or ''}".rstrip())
    if not entries:
        print("no logins")
    return 0
