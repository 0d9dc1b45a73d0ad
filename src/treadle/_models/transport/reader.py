"""The base of the readers of all wire formats: payloads become documents, pieces become deltas, and a response without
a reply becomes a typed error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from treadle._models.transport.failures import Origin, bad_reply, connection_lost
from treadle._models.transport.wire import UNREADABLE, CallList, encode, read_as, replace_surrogates
from treadle._types.errors import ContentFilteredError, ModelError
from treadle._types.profile import Profile
from treadle._types.request import CallDelta, Delta, Finish, ReasoningDelta, Reply, TextDelta
from treadle._types.usage import Usage


def decode_payload(payload: bytes, origin: Origin) -> list[Any]:
    """The JSON documents in a payload. Usually one; some servers omit the blank line between two events."""
    try:
        return [msgspec.json.decode(payload)]
    except UNREADABLE:
        pass
    try:
        return [_decode_leniently(payload)]
    except (ValueError, RecursionError):
        pass
    try:
        return [_decode_leniently(line) for line in payload.split(b"\n") if line.strip()]
    except (ValueError, RecursionError):
        if payload.startswith((b"{", b"[")) and not payload.rstrip().endswith((b"}", b"]")):
            raise connection_lost(origin, "the reply was cut off") from None
        raise bad_reply(origin, "the reply is not JSON", payload) from None


def _decode_leniently(payload: bytes) -> Any:
    """Python's own decoder takes what the strict one refuses: NaN, raw control characters, half a surrogate pair."""
    from json import loads

    return replace_surrogates(loads(payload.decode("utf-8-sig", "replace"), strict=False))


class Reader:
    """Reads the payloads of one response. A format reads one document (`_document`) and builds the reply."""

    def __init__(self, origin: Origin, profile: Profile, name: str = "") -> None:
        self.done = False
        """Nothing more needs to be read."""
        self.complete = False
        """The reply is complete; only facts about it (usage) may still come."""
        self._origin = origin
        self._profile = profile
        self._name = name
        self._calls = CallList()
        self._slots: dict[int, int] = {}
        """The provider's index of a call -> its slot in `_calls`."""
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._usage: dict[str, Any] = {}
        self._model = ""
        self._id = ""

    def feed(self, payload: bytes) -> Sequence[Delta]:
        """Return the deltas in one payload; raise a typed error if the payload is an error."""
        out: list[Delta] = []
        for document in decode_payload(payload, self._origin):
            self._document(document, out)
        return out

    def reply(self) -> Reply:
        """Return the whole reply; raise a typed error if the response ended before it was complete."""
        raise NotImplementedError

    def spent(self) -> Usage:
        """Return the usage that is known so far."""
        raise NotImplementedError

    def _document(self, document: Any, out: list[Delta]) -> None:
        raise NotImplementedError

    def _keep(self, deltas: Sequence[Delta], out: list[Delta]) -> None:
        for delta in deltas:
            if isinstance(delta, TextDelta):
                self._text.append(delta.text)
            elif isinstance(delta, ReasoningDelta):
                self._reasoning.append(delta.text)
        out += deltas

    def _add_text(self, text: str, out: list[Delta]) -> None:
        if text:
            self._keep([TextDelta(text)], out)

    def _add_thought(self, text: str, out: list[Delta]) -> None:
        if text:
            self._keep([ReasoningDelta(text)], out)

    def _open_call(self, index: int, call_id: str, name: str, out: list[Delta]) -> CallDelta:
        opened = self._calls.open(call_id, name)
        self._slots[index] = opened.index
        out.append(opened)
        return opened

    def _agreed(self, finish: Finish) -> Finish:
        """Return the reason for the end that agrees with whether there are calls."""
        if finish == "stop" and len(self._calls):
            return "calls"
        return "stop" if finish == "calls" and not len(self._calls) else finish

    def _cut_off(self, *, seen: bool, missing: str = "message") -> ModelError:
        """Return the error for a response that ended before the reply was complete, or before it began."""
        if not seen:
            return bad_reply(self._origin, f"the reply has no {missing}")
        return connection_lost(self._origin, "the stream ended before the reply was complete")

    def _broken_off(self, reason: str) -> ModelError:
        """Return the error for a model that stopped in the middle."""
        return connection_lost(self._origin, f"the model stopped before the reply was complete ({reason})")

    def _withheld(self, reason: str = "") -> ModelError:
        """Return the error for a reply that the provider's filter kept back."""
        shown = f" ({reason})" if reason else ""
        message = self._origin.message(f"the provider's content filter withheld the reply{shown}")
        return ContentFilteredError(message, usage=self.spent(), provider=self._origin.provider)


class BlockReader(Reader):
    """Reads a reply that is a list of blocks, each streamed in pieces: Anthropic's Messages, Bedrock's Converse."""

    def __init__(self, origin: Origin, profile: Profile, name: str) -> None:
        super().__init__(origin, profile, name)
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, list[str]] = {}
        """What has been streamed for a block so far: text, thoughts, or the arguments of a tool of the provider's."""
        self._stop = ""

    def _piece(self, index: int, text: str, kind: type[TextDelta | ReasoningDelta], out: list[Delta]) -> None:
        if text:
            self._pieces[index].append(text)
            out.append(kind(text))

    def _start_call(self, index: int, call_id: str, name: str, arguments: Any, out: list[Delta]) -> str:
        """Begin a call; return the id it has from now on."""
        opened = self._open_call(index, call_id, name, out)
        if arguments:
            out.append(self._calls.add(opened.index, encode(arguments).decode()))
        return opened.id

    def _add_arguments(self, index: int, text: str, out: list[Delta]) -> None:
        if text and index in self._slots:
            out.append(self._calls.add(self._slots[index], text))
        elif text:
            self._pieces[index].append(text)

    def _end(self, index: int, out: list[Delta]) -> None:
        if index in self._slots:
            out += self._calls.close(self._slots[index])

    def _complete_block(self, index: int) -> dict[str, Any]:
        """Return a block in the form it has in a whole message."""
        raise NotImplementedError

    def _complete_blocks(self) -> list[dict[str, Any]]:
        return [block for index in sorted(self._blocks) if (block := self._complete_block(index))]


def decoded(arguments: str) -> Any:
    """Return arguments as a value; empty when they cannot be read, which the call itself reports."""
    return {} if (value := read_as(object, arguments)) is None else value
