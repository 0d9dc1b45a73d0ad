"""HTTP servers on loopback for tests: one plays recorded provider traffic, one records it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from aiohttp import ClientConnectionError, ClientTimeout, web

from treadle._models.transport.http import session
from treadle._testing.traffic import (
    STORED_HEADERS,
    Exchange,
    body_value,
    encode_exchange,
    first_difference,
    load_traffic,
)

_MAX_BODY = 64 * 2**20
_NO_LIMIT = ClientTimeout(total=None, sock_connect=30.0)
_CONNECTION_HEADERS = ("host", "content-length", "accept-encoding", "connection", "transfer-encoding")


class _LoopbackServer:
    """Listens on a free port of 127.0.0.1 between entering and leaving `async with`."""

    url: str
    """The base URL to give to a model."""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=_MAX_BODY)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        raise NotImplementedError


class TrafficPlayer(_LoopbackServer):
    """A server that answers as a provider did: it replays the exchanges of a traffic file.

    >>> async with TrafficPlayer("traffic.jsonl") as player:
    ...     agent = Agent(OpenAIModel("gpt-5-mini", base_url=player.url, api_key="unused"), tools=[weather])
    ...     result = await agent.run("How warm is it in Lisbon?")

    A request gets the first unplayed exchange with the same path and JSON body. One that matches none, and an exchange
    that was not asked for, is an AssertionError at the end of the block. With `strict=False` they are played in order.
    With `match=("model", "messages")` only these fields are compared, and exchanges can be played again or never.
    """

    def __init__(
        self, traffic: str | Path | Sequence[Exchange], *, strict: bool = True, match: Sequence[str] = ()
    ) -> None:
        self.unplayed = load_traffic(traffic) if isinstance(traffic, (str, Path)) else list(traffic)
        """The exchanges nobody has asked for yet."""
        self.received: list[Any] = []
        """The bodies of all requests so far, in order."""
        self.problems: list[str] = []
        """What was wrong with the requests that fitted no exchange."""
        self._strict = strict
        self._match = tuple(match)
        self._total = len(self.unplayed)
        self._asked = 0

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await super().__aexit__(kind, error, traceback)
        if kind is not None:
            return
        problems = list(self.problems)
        if self._strict and not self._match and self.unplayed:
            problems.append(f"{len(self.unplayed)} of {self._total} recorded exchanges were not asked for")
        if problems:
            raise AssertionError("\n".join(problems))

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        sent = body_value(await request.read())
        index = self._matching(request.path, sent)
        if request.method == "GET" and index is None:  # not to a model, but about it: no answer is an answer
            return web.json_response({"error": {"type": "traffic_player", "message": "not recorded"}}, status=404)
        self.received.append(sent)
        self._asked += request.method != "GET"
        if index is None:
            problem = f"request {self._asked} ({request.path}): {self._difference(request.path, sent)}"
            self.problems.append(problem)
            return web.json_response({"error": {"type": "traffic_player", "message": problem}}, status=400)
        exchange = self.unplayed.pop(index)
        if self._match:
            self.unplayed.append(exchange)  # behind the others, for a request that comes once more
        return await _respond(request, exchange)

    def _matching(self, path: str, sent: Any) -> int | None:
        fits = [
            index
            for index, exchange in enumerate(self.unplayed)
            if _same_path(exchange.path, path) and self._same(exchange.request, sent)
        ]
        return fits[0] if fits else None

    def _same(self, recorded: Any, sent: Any) -> bool:
        if self._match:
            return _fields(recorded, self._match) == _fields(sent, self._match)
        return not self._strict or recorded == sent

    def _difference(self, path: str, sent: Any) -> str:
        expected = next((exchange for exchange in self.unplayed if _same_path(exchange.path, path)), None)
        if expected is None:
            paths = sorted({exchange.path for exchange in self.unplayed})
            return f"no recorded exchange is left for this path; left are: {', '.join(paths) or 'none'}"
        if self._match:
            return first_difference(_fields(expected.request, self._match), _fields(sent, self._match))
        return first_difference(expected.request, sent)


class TrafficRecorder(_LoopbackServer):
    """A server that forwards requests to a provider and appends each exchange to a traffic file.

    >>> async with TrafficRecorder("traffic.jsonl", "https://api.openai.com/v1") as recorder:
    ...     agent = Agent(OpenAIModel("gpt-5-mini", base_url=recorder.url), tools=[weather])
    ...     await agent.run("How warm is it in Lisbon?")

    Request headers and query strings, which carry keys, are forwarded and not stored.
    """

    def __init__(self, path: str | Path, upstream: str) -> None:
        self.path = Path(path)
        self.upstream = upstream.rstrip("/")

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        data = await request.read()
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _CONNECTION_HEADERS}
        headers["accept-encoding"] = "identity"
        target = f"{self.upstream}{request.path_qs}"
        try:
            answer = await (await session()).request(
                request.method, target, data=data, headers=headers, allow_redirects=False, timeout=_NO_LIMIT
            )  # a redirect is for the caller to judge: its headers carry keys
        except ClientConnectionError as error:
            message = f"cannot reach {self.upstream}: {error}"
            return web.json_response({"error": {"type": "traffic_recorder", "message": message}}, status=502)
        async with answer:
            headers = {name.lower(): value for name, value in answer.headers.items() if name.lower() in STORED_HEADERS}
            response = web.StreamResponse(status=answer.status, headers=headers)
            await response.prepare(request)
            body = b""
            async for piece in answer.content.iter_any():
                body += piece
                await response.write(piece)
        exchange = Exchange(request.path, body_value(data), answer.status, headers, body.decode(errors="replace"))
        with self.path.open("ab") as file:  # before the response ends: a caller that has it can read the file
            file.write(encode_exchange(exchange))
        await response.write_eof()
        return response


def _same_path(recorded: str, asked: str) -> bool:
    """Clients have base URLs with more or fewer parts in front."""
    return recorded.endswith(asked) or asked.endswith(recorded)


def _fields(body: Any, names: Sequence[str]) -> Any:
    return {name: cast("dict[str, Any]", body).get(name) for name in names} if isinstance(body, dict) else body


async def _respond(request: web.Request, exchange: Exchange) -> web.StreamResponse:
    if not exchange.streamed:
        return web.Response(status=exchange.status, headers=exchange.headers, body=exchange.body.encode())
    response = web.StreamResponse(status=exchange.status, headers=exchange.headers)
    await response.prepare(request)
    for event in exchange.body.replace("\r\n", "\n").split("\n\n"):
        if event:
            await response.write(f"{event}\n\n".encode())
    await response.write_eof()
    return response
