"""Provider traffic in files: the exchanges of a JSONL file, and how a request is compared with a recorded one."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from treadle._safety.data import decode_json
from treadle._types.errors import ConfigError

STORED_HEADERS = ("content-type", "retry-after", "retry-after-ms", "x-request-id", "request-id")
"""Response headers that say something about the reply; the others belong to the connection it came over."""


class Exchange(Struct, frozen=True, omit_defaults=True):
    """One request to a provider and the response to it: a line of a traffic file."""

    path: str
    """Relative to the base URL that the model was given, for instance `/chat/completions`."""
    request: Any
    """The JSON body of the request; text when it is not JSON."""
    status: int = 200
    headers: dict[str, str] = {}
    """Response headers."""
    body: str = ""
    """The response body as text; an event stream is stored as it was sent."""

    @property
    def streamed(self) -> bool:
        """True when the body is a server-sent event stream."""
        return "event-stream" in self.headers.get("content-type", "")


def load_traffic(path: str | Path) -> list[Exchange]:
    """The exchanges of a `.jsonl` or `.jsonl.gz` file, or of all such files in a folder."""
    if Path(path).is_dir():
        files = sorted(file for file in Path(path).iterdir() if file.name.endswith((".jsonl", ".jsonl.gz")))
        return [exchange for file in files for exchange in load_traffic(file)]
    data = Path(path).read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    return [_exchange(line, f"{path}, line {number}") for number, line in enumerate(text.split("\n"), 1) if line]


def encode_exchange(exchange: Exchange) -> bytes:
    """An exchange as a line of a traffic file."""
    return msgspec.json.encode(exchange) + b"\n"


def _exchange(line: str, where: str) -> Exchange:
    try:
        row = decode_json(line, dict[str, Any])
        path = str(row["path"]) if "path" in row else urlsplit(str(row["url"])).path
        headers = {
            name.lower(): value for name, value in row.get("headers", {}).items() if name.lower() in STORED_HEADERS
        }
        body = str(row.get("body", ""))
        if "/" not in headers.get("content-type", ""):  # not recorded, or masked
            streamed = body.startswith(("data:", "event:", ":"))
            headers["content-type"] = "text/event-stream" if streamed else "application/json"
        return Exchange(path, row["request"], int(row.get("status", 200)), headers, body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{where} is not a recorded exchange: {type(error).__name__}: {error}") from error


def body_value(data: bytes) -> Any:
    """A request body as it is compared: as JSON when it is JSON, else as text."""
    try:
        return json.loads(data)
    except ValueError:
        return data.decode(errors="replace")


def first_difference(recorded: Any, sent: Any, at: str = "request") -> str:
    """Where two JSON values differ first, in words; empty when they are equal."""
    if isinstance(recorded, dict) and isinstance(sent, dict):
        old, new = cast("dict[str, Any]", recorded), cast("dict[str, Any]", sent)
        for key in dict.fromkeys([*old, *new]):
            if key not in new:
                return f"{at}.{key} was recorded and is not sent"
            if key not in old:
                return f"{at}.{key} is sent and was not recorded"
            if difference := first_difference(old[key], new[key], f"{at}.{key}"):
                return difference
        return ""
    if isinstance(recorded, list) and isinstance(sent, list):
        return _list_difference(cast("list[Any]", recorded), cast("list[Any]", sent), at)
    return "" if recorded == sent else f"{at}: recorded {_short(recorded)}, sent {_short(sent)}"


def _list_difference(recorded: Sequence[Any], sent: Sequence[Any], at: str) -> str:
    for index, (old, new) in enumerate(zip(recorded, sent, strict=False)):
        if difference := first_difference(old, new, f"{at}[{index}]"):
            return difference
    if len(recorded) != len(sent):
        return f"{at}: recorded {len(recorded)} items, sent {len(sent)}"
    return ""


def _short(value: Any, limit: int = 120) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else text[: limit - 3] + "..."
