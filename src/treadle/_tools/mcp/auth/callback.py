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
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

MAX_HEAD = 16_384
PATIENCE = 300.0
"""Seconds that a person has for logging in."""
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
        arrived: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                async with asyncio.timeout(10):
                    params = _params(await reader.readuntil(b"\r\n\r\n"))
                found = params is not None and _same(params.get("state", ""), state)
                failed = found and params is not None and "code" not in params
                text = "The login failed." if failed else "You are logged in." if found else ""
                writer.write(_response(text))
                await writer.drain()
                if found and params is not None and not arrived.done():
                    arrived.set_result(params)
            except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                pass
            finally:
                with suppress(OSError):
                    writer.close()

        server = await asyncio.start_server(answer, sock=self._socket.dup(), limit=MAX_HEAD)
        try:
            async with asyncio.timeout(seconds):
                params = await arrived
        except TimeoutError:
            raise LoginFailedError(f"nobody logged in within {seconds:g} seconds") from None
        finally:
            server.close()
        if "code" not in params:
            raise LoginFailedError(f"the authorization server said: {plain_code(params.get('error', ''))}")
        return params


def plain_code(text: str) -> str:
    """An OAuth error code. Nothing else that a server writes is repeated: it may be meant for the model."""
    return text if re.fullmatch(r"[a-z_]{1,40}", text) else "an error without a known code"


def _same(given: str, state: str) -> bool:
    return secrets.compare_digest(given.encode(), state.encode())  # as bytes: texts may be ASCII only


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


def _params(head: bytes) -> dict[str, str] | None:
    """The parameters of `GET /callback?...`; None for any other request."""
    line = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
    if len(line) != 3 or line[0] != "GET":
        return None
    url = urlsplit(line[1])
    if url.path != "/callback":
        return None
    try:
        values = parse_qs(url.query, max_num_fields=50)
    except ValueError:
        return None
    return {name: value[0] for name, value in values.items() if len(value) == 1}


def _response(text: str) -> bytes:
    body = _PAGE.format(text=text).encode() if text else b"not found"
    head = (
        f"HTTP/1.1 {'200 OK' if text else '404 Not Found'}\r\ncontent-type: text/html; charset=utf-8\r\n"
        f"content-length: {len(body)}\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\n"
        "content-security-policy: default-src 'none'\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
