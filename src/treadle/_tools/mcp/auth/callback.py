"""Where a login comes back to: one address on this machine, which waits for one request.

Any page in the user's browser can call it, so only the request with the state of this login counts; all others are
answered with 404 and change nothing.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import socket

MAX_HEAD = 16_384
PATIENCE = 300.0
"""Seconds that a person has for logging in."""
_HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'",
    "connection": "close",
}
_PAGE = "<!doctype html><meta charset=utf-8><title>Treadle</title><p>{text} You can close this page.</p>"


class LoginFailedError(Exception):
    """The user or the authorization server refused, or nobody came back."""


class CallbackListener:
    """Bound when it is made, so that its address can be registered; it listens from `wait` on."""

    def __init__(self, port: int = 0) -> None:
        self._socket = _bound(port)
        self.port: int = self._socket.getsockname()[1]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/callback"

    def close(self) -> None:
        self._socket.close()

    async def wait(self, state: str, seconds: float = PATIENCE) -> dict[str, str]:
        """The parameters of the request that has this state; `LoginFailedError` when it says no, or none comes."""
        from aiohttp import web

        arrived: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

        async def answer(request: web.BaseRequest) -> web.Response:
            query = request.query
            params = {name: value for name, value in query.items() if len(query.getall(name)) == 1}
            same = secrets.compare_digest(params.get("state", "").encode(), state.encode())  # texts may be ASCII only
            if (request.method, request.path) != ("GET", "/callback") or not same:
                return web.Response(status=404, text="not found", headers=_HEADERS)
            if not arrived.done():
                arrived.set_result(params)
            text = "You are logged in." if "code" in params else "The login failed."
            return web.Response(text=_PAGE.format(text=text), content_type="text/html", headers=_HEADERS)

        server = web.ServerRunner(web.Server(answer, max_line_size=MAX_HEAD, access_log=None), shutdown_timeout=1.0)
        await server.setup()
        await web.SockSite(server, self._socket.dup()).start()
        try:
            async with asyncio.timeout(seconds):
                params = await arrived
        except TimeoutError:
            raise LoginFailedError(f"nobody logged in within {seconds:g} seconds") from None
        finally:
            await server.cleanup()
        if "code" not in params:
            raise LoginFailedError(f"the authorization server said: {plain_code(params.get('error', ''))}")
        return params


def plain_code(text: str) -> str:
    """An OAuth error code. Nothing else that a server writes is repeated: it may be meant for the model."""
    return text if re.fullmatch(r"[a-z_]{1,40}", text) else "an error without a known code"


def _bound(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name != "nt":  # there it would let another program take the port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(16)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening
