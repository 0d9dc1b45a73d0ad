"""What goes into llama.cpp and what comes out, when the prompt is sent as tokens and text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct, field

from treadle._models.local.slots import Segment
from treadle._models.transport.failures import Origin, dropped, inline, unreadable
from treadle._models.transport.wire import ThinkSplitter, encode, priced
from treadle._types.errors import ContextOverflowError, RequestRefusedError
from treadle._types.profile import Profile
from treadle._types.request import Delta, OutputFormat, ReasoningDelta, Reply, TextDelta
from treadle._types.usage import Usage

MARKUP = re.compile(
    r"<[|\uff5c][^<>\s]{1,48}[|\uff5c]>|</?s>|<(?:bos|eos|pad|unk)>|<(?:start|end)_of_\w{2,12}>|\[/?[A-Z_]{3,20}\]"
)
"""What control tokens look like in the models we know of."""

_GUIDANCE = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": ", "lenient": True}
"""One way to write JSON: small models lose themselves in blank lines. Keywords nobody can enforce are left out."""
_LOOK_AROUND = re.compile(r"\(\?[^:]|\\[1-9]|\\k<")
_ROOM = 128
"""Tokens a reply needs at least; a prompt that leaves less does not fit."""


NO_GUIDANCE = "llguidance is not enabled"
"""What a runtime says that was built without its better constraint engine."""


def constraint_of(wanted: OutputFormat, *, guided: bool = True) -> dict[str, Any]:
    """A format in the words of the runtime's constraint engine; without `guided`, of the simpler one every build has."""
    if wanted.kind == "grammar":
        return {"grammar": wanted.grammar}
    schema: dict[str, Any] = (
        wanted.schema if wanted.kind == "schema" and wanted.schema is not None else {"type": "object"}
    )
    plain = cast("dict[str, Any]", _enforceable(schema))
    if not guided:
        return {"json_schema": {key: value for key, value in plain.items() if key != "x-guidance"}}
    how = {**plain, "x-guidance": {**_GUIDANCE, **schema.get("x-guidance", {})}}
    return {"grammar": f"%llguidance {{}}\nstart: %json {encode(how).decode()}"}


def opening_of(wanted: OutputFormat | None) -> str:
    """The character a reply in this format must begin with, if it is known."""
    if wanted is None or wanted.kind == "grammar":
        return ""
    kind = wanted.schema.get("type") if wanted.kind == "schema" and wanted.schema is not None else "object"
    return {"object": "{", "array": "["}.get(kind, "") if isinstance(kind, str) else ""


def _enforceable(node: Any, names: bool = False) -> Any:
    """A schema without what makes the constraint engine give up: patterns that look around, references out of the document."""
    if isinstance(node, list):
        return [_enforceable(item) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("dict[str, Any]", node)
    if names:  # keys are the names of properties here, not keywords
        return {key: _enforceable(value) for key, value in fields.items()}
    kept: dict[str, Any] = {}
    for key, value in fields.items():
        if key in ("const", "enum", "default", "examples"):
            kept[key] = value
        elif isinstance(value, str) and (
            (key == "pattern" and _LOOK_AROUND.search(value)) or (key == "$ref" and value[:1] != "#")
        ):
            continue
        else:
            kept[key] = _enforceable(value, names=key in ("properties", "$defs", "definitions", "patternProperties"))
    return kept


def flat(segments: Sequence[Segment]) -> list[int | str]:
    """A prompt as the runtime takes it: strings and token numbers mixed."""
    prompt: list[int | str] = []
    for segment in segments:
        prompt.extend(segment.tokens or (segment.text,))
    return prompt


class _Choice(Struct, frozen=True):
    text: str = ""
    finish_reason: str | None = None


class _Progress(Struct, frozen=True):
    total: int = 0


class _Timings(Struct, frozen=True):
    cache_n: int = 0
    prompt_n: int = 0
    predicted_n: int = 0


class _Inside(Struct, frozen=True):
    tokens: list[int] = []
    stop_type: str = ""


class _Chunk(Struct, frozen=True):
    choices: list[_Choice] = []
    id: str = ""
    error: Any = None
    prompt_progress: _Progress | None = None
    timings: _Timings = _Timings()
    inside: _Inside = field(default=_Inside(), name="__verbose")


_decoder = msgspec.json.Decoder(_Chunk)


class ExactReader:
    """Reads one completion, with the tokens the model really wrote."""

    def __init__(
        self, origin: Origin, name: str, profile: Profile, wanted: OutputFormat | None, max_tokens: int
    ) -> None:
        self.written = ""
        self.tokens: tuple[int, ...] = ()
        """The tokens of `written`; empty when they do not make up exactly that text."""
        self._origin = origin
        self._name = name
        self._opening = opening_of(wanted)
        self._window = profile.window or 0
        self._prices = profile.prices
        self._room = min(max_tokens, _ROOM)
        self._splitter = ThinkSplitter()
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._collected: list[int] = []
        self._last: _Chunk | None = None

    def feed(self, payload: bytes) -> Sequence[Delta]:
        try:
            chunk = _decoder.decode(payload)
        except msgspec.DecodeError as error:
            raise unreadable(self._origin, f"the runtime sent something else than a chunk ({error})", payload) from None
        if chunk.error:
            raise inline(self._origin, chunk.error)
        if chunk.prompt_progress is not None:
            self._check_room(chunk.prompt_progress.total)
            return ()
        if not chunk.choices:
            return ()
        choice = chunk.choices[0]
        self._collected += chunk.inside.tokens
        out: list[Delta] = []
        if choice.text:
            self._check_opening(choice.text)
            self.written += choice.text
            out += self._splitter.feed(choice.text)
        if choice.finish_reason:
            self._last = chunk
            out += self._splitter.end()
            # A character that takes several tokens is sent with the last of them alone: then some are missing.
            if chunk.inside.stop_type == "eos" and len(self._collected) == chunk.timings.predicted_n:
                self.tokens = tuple(self._collected[:-1])
        self._text += [delta.text for delta in out if isinstance(delta, TextDelta)]
        self._reasoning += [delta.text for delta in out if isinstance(delta, ReasoningDelta)]
        return out

    def reply(self) -> Reply:
        if self._last is None:
            raise dropped(self._origin, "the runtime ended before the reply was complete")
        timings = self._last.timings
        usage = Usage(timings.cache_n + timings.prompt_n, timings.predicted_n, timings.cache_n, requests=1)
        usage = priced(usage, self._prices)
        finish = "length" if self._last.choices[0].finish_reason == "length" else "stop"
        return Reply("".join(self._text), (), "".join(self._reasoning), finish, usage, self._name, self._last.id)

    def _check_room(self, prompt: int) -> None:
        if self._window and prompt + self._room > self._window:
            text = f"the prompt has {prompt} tokens and the reply needs {self._room}, but the window has {self._window}; use a larger n_ctx"
            raise ContextOverflowError(self._origin.say(text), provider=self._origin.provider)

    def _check_opening(self, piece: str) -> None:
        # A schema the constraint engine cannot compile is dropped without a word: then the reply begins as prose does.
        if self._opening and not self.written and not piece.startswith(self._opening):
            text = "the runtime cannot hold a reply to this JSON schema (is it valid, and can any value satisfy it?)"
            raise RequestRefusedError(self._origin.say(text), provider=self._origin.provider)
