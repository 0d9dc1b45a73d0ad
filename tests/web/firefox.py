"""Firefox, driven by what every browser understands (WebDriver BiDi): Playwright drives only builds of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp

from waiting import GUARD_SECONDS

FIREFOX = next((path for name in ("firefox-esr", "firefox") if (path := shutil.which(name))), None)
PREFERENCES = """user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("app.normandy.enabled", false);
user_pref("app.update.disabledForTesting", true);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("remote.active-protocols", 1);
"""


class Firefox:
    """One tab of it."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._numbers, self._tab = socket, count(1), ""
        self.errors: list[str] = []

    async def begin(self) -> None:
        await self._send("session.new", {"capabilities": {}})
        await self._send("session.subscribe", {"events": ["log.entryAdded"]})
        tree = await self._send("browsingContext.getTree", {})
        self._tab = tree["contexts"][0]["context"]

    async def go(self, address: str) -> None:
        await self._send("browsingContext.navigate", {"context": self._tab, "url": address, "wait": "complete"})

    async def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height}
        await self._send("browsingContext.setViewport", {"context": self._tab, "viewport": size})

    async def ask(self, expression: str) -> Any:
        """The value of an expression on the page: a text, a number or a truth value."""
        wanted = {"expression": expression, "target": {"context": self._tab}, "awaitPromise": True}
        answer = await self._send("script.evaluate", wanted)
        assert answer["type"] == "success", answer
        return answer["result"].get("value")

    async def until(self, condition: str) -> None:
        async with asyncio.timeout(GUARD_SECONDS):
            while not await self.ask(f"Boolean({condition})"):  # noqa: ASYNC110 - the page tells nobody
                await asyncio.sleep(0.05)

    async def type(self, text: str) -> None:
        """Letters and names of keys, such as `\\uE007` for Enter."""
        keys = [{"type": kind, "value": sign} for sign in text for kind in ("keyDown", "keyUp")]
        typed = {"type": "key", "id": "keyboard", "actions": keys}
        await self._send("input.performActions", {"context": self._tab, "actions": [typed]})

    async def _send(self, method: str, params: dict[str, Any]) -> Any:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        async with asyncio.timeout(GUARD_SECONDS):
            async for message in self._socket:
                said = json.loads(message.data)
                if said.get("method") == "log.entryAdded" and said["params"]["level"] == "error":
                    self.errors.append(str(said["params"].get("text")))
                if said.get("id") == number:
                    assert said["type"] == "success", said
                    return said["result"]
        raise AssertionError("Firefox has gone")


@asynccontextmanager
async def firefox() -> AsyncIterator[Firefox]:
    assert FIREFOX is not None
    with tempfile.TemporaryDirectory(prefix="treadle-firefox-", ignore_cleanup_errors=True) as folder:
        (Path(folder) / "user.js").write_text(PREFERENCES)
        process = await asyncio.create_subprocess_exec(
            FIREFOX, "--headless", "--no-remote", "--profile", folder, "--remote-debugging-port", "0", "about:blank",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE, env={**os.environ, "HOME": folder},
        )  # fmt: skip
        try:
            async with aiohttp.ClientSession() as session, session.ws_connect(await _address(process)) as socket:
                browser = Firefox(socket)
                await browser.begin()
                yield browser
        finally:
            process.kill()
            await process.wait()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    async with asyncio.timeout(GUARD_SECONDS):
        async for line in process.stderr:
            if found := re.search(rb"WebDriver BiDi listening on (ws://\S+)", line):
                return found[1].decode() + "/session"
    raise AssertionError("Firefox did not start")
