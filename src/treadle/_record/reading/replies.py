"""Reads responses with the readers of the providers, after they have passed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from treadle._models.anthropic.reader import MessagesReader
from treadle._models.catalog.profiles import profile_for
from treadle._models.catalog.providers import PROVIDERS, Provider
from treadle._models.gemini.reader import GeminiReader
from treadle._models.http_model import Reader
from treadle._models.openai.chat_reader import ChatReader
from treadle._models.openai.responses_reader import ResponsesReader
from treadle._models.transport.failures import Origin
from treadle._models.transport.sse import LineParser, SSEParser
from treadle._record.contents import unpacked
from treadle._record.exchange import HttpExchange
from treadle._record.reading.ollama import as_chat_chunk
from treadle._record.reading.requests import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES
from treadle._types.errors import ModelError
from treadle._types.profile import Profile
from treadle._types.request import Reply
from treadle._types.usage import Usage

_USUAL = {
    CHAT: "openai",
    RESPONSES: "openai-responses",
    ANTHROPIC: "anthropic",
    GEMINI: "gemini",
    OLLAMA: "ollama",
}


class Answered(Struct, frozen=True):
    """The reply to a request."""

    reply: Reply | None
    problem: str = ""
    """Why there is no whole reply."""
    usage: Usage = Usage(requests=1)
    first_token: float | None = None
    received: int = 0


def provider_at(address: str, protocol: str) -> Provider:
    """Whose server it is: by its host, else whoever made the protocol."""
    host = urlsplit(address).hostname or ""
    by_host = {urlsplit(provider.base_url).hostname: provider for provider in PROVIDERS.values() if provider.base_url}
    provider = by_host.get(host)
    if provider is None or host in ("localhost", "127.0.0.1") or provider.name.startswith("openai"):
        return PROVIDERS[_USUAL[protocol]]
    return provider


def profile_at(address: str, protocol: str, model: str) -> Profile:
    """Look up a model's profile, for its prices above all."""
    return profile_for(provider_at(address, protocol), model)


def read_response(exchange: HttpExchange, protocol: str, model: str) -> Answered:
    """The reply, or why there is none."""
    origin = Origin(provider_at(exchange.upstream, protocol).name, exchange.upstream, exchange.secrets)
    profile = profile_at(exchange.upstream, protocol, model)
    reader = _reader(protocol, origin, profile, model)
    first: float | None = None
    size = 0
    raw: list[bytes] = []
    try:
        for seconds, payload in _payloads(exchange):
            size += len(payload)
            raw.append(payload)
            payload = as_chat_chunk(payload) if protocol == OLLAMA else payload
            if exchange.status == 200 and not reader.done and reader.feed(payload) and first is None:
                first = seconds
        if exchange.status != 200:
            return Answered(None, _error(exchange, b"".join(raw)), received=size)
        if exchange.ending != "complete" and not reader.complete:
            return Answered(None, _ENDINGS.get(exchange.ending, exchange.ending), reader.spent(), first, size)
        reply = reader.reply()
    except ModelError as error:
        return Answered(None, str(error)[:500], reader.spent(), first, size)
    return Answered(reply, "", reply.usage, first, size)


_ENDINGS = {
    "cut": "the provider's answer broke off",
    "cancelled": "the program did not wait for the end of the answer",
    "unreachable": "the provider could not be reached",
    "refused": "the request could not be passed on",
}


def _reader(protocol: str, origin: Origin, profile: Profile, model: str) -> Reader:
    if protocol in (CHAT, OLLAMA):
        return ChatReader(origin, profile)
    kind = {RESPONSES: ResponsesReader, ANTHROPIC: MessagesReader, GEMINI: GeminiReader}[protocol]
    return kind(origin, profile, model)


def _payloads(exchange: HttpExchange) -> Iterator[tuple[float, bytes]]:
    """Each payload of the response and when it had come."""
    encoding = exchange.headers.get("content-encoding", "")
    times = [seconds for _, seconds in exchange.marks]
    pieces = unpacked(exchange.received, encoding)
    kind = exchange.headers.get("content-type", "")
    parser = SSEParser() if "event-stream" in kind else LineParser() if "ndjson" in kind else None
    if parser is None or exchange.status != 200:
        body = b"".join(pieces).strip()
        for document in _documents(body):
            yield exchange.elapsed, document
        return
    for index, piece in enumerate(pieces):
        seconds = times[index] if index < len(times) else exchange.elapsed
        for payload in parser.feed(piece):
            yield seconds, payload
    for payload in parser.close():
        yield exchange.elapsed, payload


def _documents(body: bytes) -> list[bytes]:
    """One document, or those of a list: Gemini streams one when it is not asked for events."""
    if not body.startswith(b"["):
        return [body] if body else []
    try:
        items: list[Any] = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return [body]
    return [msgspec.json.encode(item) for item in items]


def _error(exchange: HttpExchange, body: bytes) -> str:
    if not exchange.status:
        return _ENDINGS.get(exchange.ending, exchange.ending)
    return f"status {exchange.status}: {body[:300].decode(errors='replace')}"
