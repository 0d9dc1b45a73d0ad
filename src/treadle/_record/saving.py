"""Exchanges as files that `treadle.testing.TrafficPlayer` plays: one file for each server, in a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from treadle._record.contents import whole
from treadle._record.exchange import HttpExchange
from treadle._testing.traffic import STORED_HEADERS, Exchange, body_value, encode_exchange


class TrafficFolder:
    """Appends each exchange to `HOST.jsonl` in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def take(self, exchange: HttpExchange, clean: Callable[[str], str]) -> str:
        if exchange.ending != "complete" or not exchange.status:
            return "its answer is not whole, and would be played as a whole one"
        request = clean(whole(exchange.sent, exchange.request_encoding).decode(errors="replace"))
        body = clean(whole(exchange.received, exchange.headers.get("content-encoding", "")).decode(errors="replace"))
        headers = {name: clean(value) for name, value in exchange.headers.items() if name in STORED_HEADERS}
        stored = Exchange(exchange.path, body_value(request.encode()), exchange.status, headers, body)
        self._folder.mkdir(parents=True, exist_ok=True)
        file = os.open(self._folder / self._name(exchange), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, encode_exchange(stored))
        finally:
            os.close(file)
        return ""

    async def close(self, *, ended: bool) -> None: ...

    def _name(self, exchange: HttpExchange) -> str:
        return re.sub(r"[^a-z0-9]+", "-", (urlsplit(exchange.upstream).hostname or "server").lower()) + ".jsonl"
