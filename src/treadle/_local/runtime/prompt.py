"""The format of completions with llama.cpp: constraints and prompts for requests, and a reader of the replies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from treadle._local.runtime.endless import EndlessText
from treadle._local.runtime.slots import Segment
from treadle._models.openai.chat_wire import enforceable, plain_schema
from treadle._models.transport.decision import DecisionPoint
from treadle._models.transport.failures import Origin, bad_reply, connection_lost, error_in_reply
from treadle._models.transport.reader import Reader
from treadle._models.transport.wire import ThinkSplitter, encode, with_cost
from treadle._types.errors import ContextOverflowError, RequestRefusedError
from treadle._types.profile import Profile
from treadle._types.request import Delta, OutputFormat, Reply, Request
from treadle._types.usage import Usage

MARKUP = re.compile(
    r"<[|\uff5c][^<>\s]{1,48}[|\uff5c]>|</?s>|<(?:bos|eos|pad|unk)>|<(?:start|end)_of_\w{2,12}>|\[/?[A-Z_]{3,20}\]"
)
"""The form of control tokens in common models."""

_GUIDANCE = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": ", "lenient": True}
"""Only one way to write JSON, because small models may write blank lines without end. Keywords that cannot be enforced
are ignored."""
MIN_REPLY_TOKENS = 128
"""A prompt that leaves fewer tokens of the window for the reply does not fit."""

NO_GUIDANCE = "llguidance is not enabled"
"""The error of a runtime that was built without the better one of its constraint engines."""


def constraint_of(wanted: OutputFormat, *, guided: bool = True) -> dict[str, Any]:
    """The request fields for a format: for the runtime's better constraint engine, or without `guided` for the simpler
    one that every build has."""
    if wanted.kind == "grammar":
        return {"grammar": wanted.grammar}
    schema: dict[str, Any] = (
        wanted.schema if wanted.kind == "schema" and wanted.schema is not None else {"type": "object"}
    )
    if not guided:
        return {"json_schema": plain_schema(schema)}
    return {"grammar": f"%llguidance {{}}\nstart: %json {encode(with_guidance(schema)).decode()}"}


def with_guidance(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema for the better constraint engine."""
    return {**enforceable(schema), "x-guidance": {**_GUIDANCE, **schema.get("x-guidance", {})}}


def tuning_settings(request: Request) -> dict[str, Any]:
    """For llama.cpp, in process and as a server: an adapter is for requests in the form that it was trained on."""
    return {"lora": [{"id": 0, "scale": 1.0 if request.tuned else 0.0}]}


def opening_of(wanted: OutputFormat | None) -> str:
    """The character that a reply in this format begins with; empty when it is not certain."""
    if wanted is None or wanted.kind == "grammar":
        return ""
    kind = wanted.schema.get("type") if wanted.kind == "schema" and wanted.schema is not None else "object"
    return {"object": "{", "array": "["}.get(kind, "") if isinstance(kind, str) else ""


def prompt_items(segments: Sequence[Segment]) -> list[int | str]:
    """A prompt in the runtime's form: strings and token numbers in one list. Texts that follow each other become one:
    the runtime takes a list of nothing but strings for as many prompts."""
    prompt: list[int | str] = []
    for segment in segments:
        if segment.tokens:
            prompt.extend(segment.tokens)
        elif prompt and isinstance(last := prompt[-1], str):
            prompt[-1] = last + segment.text
        else:
            prompt.append(segment.text)
    return prompt


class _Alternative(Struct, frozen=True):
    token: str = ""
    logprob: float = -99.0


class _Token(Struct, frozen=True):
    token: str = ""
    top_logprobs: list[_Alternative] = []


class _Probabilities(Struct, frozen=True):
    content: list[_Token] = []


class _Choice(Struct, frozen=True):
    text: str = ""
    finish_reason: str | None = None
    logprobs: _Probabilities | None = None


class _Progress(Struct, frozen=True):
    total: int = 0
    cache: int = 0


class _Timings(Struct, frozen=True):
    cache_n: int = 0
    prompt_n: int = 0
    predicted_n: int = 0


class _Verbose(Struct, frozen=True):
    tokens: list[int] = []
    stop_type: str = ""


class _Chunk(Struct, frozen=True):
    choices: list[_Choice] = []
    id: str = ""
    error: Any = None
    prompt_progress: _Progress | None = None
    timings: _Timings = _Timings()
    verbose: _Verbose = field(default=_Verbose(), name="__verbose")


_decoder = msgspec.json.Decoder(_Chunk)


class CompletionReader(Reader):
    """Reads one completion, including the tokens that the model wrote."""

    def __init__(
        self,
        origin: Origin,
        name: str,
        profile: Profile,
        wanted: OutputFormat | None,
        max_tokens: int,
        point: DecisionPoint | None = None,
    ) -> None:
        super().__init__(origin, profile, name)
        self.written = ""
        self._point = point
        self._endless = EndlessText() if wanted is not None and profile.small else None
        self._progress = _Progress()
        self.tokens: tuple[int, ...] = ()
        """The tokens of `written`; empty when they do not add up to exactly that text."""
        self._opening = opening_of(wanted)
        self._reply_tokens = min(max_tokens, MIN_REPLY_TOKENS)
        self._splitter = ThinkSplitter()
        self._collected: list[int] = []
        self._last: _Chunk | None = None
        self._first = _Timings()
        """Of the first piece, where the reply is written in pieces."""
        self.sampled = 0
        """How many tokens the model wrote."""
        self.met_stop = False
        """Whether the model was stopped at a text, which is not part of `written`."""
        self.is_whole: bool | None = None
        """Whether the reply is complete, where it is written in pieces; None where it is not."""

    def add(self, text: str) -> Sequence[Delta]:
        """Take a text of the reply that the model need not write."""
        self.is_whole = False
        self.written += text
        out: list[Delta] = []
        self._keep(self._splitter.feed(text), out)
        return out

    def go_on(self) -> None:
        """Read another piece."""
        self._last = None

    def feed(self, payload: bytes) -> Sequence[Delta]:
        try:
            chunk = _decoder.decode(payload)
        except msgspec.DecodeError as error:
            raise bad_reply(self._origin, f"the runtime sent an invalid chunk ({error})", payload) from None
        if chunk.error:
            raise error_in_reply(self._origin, chunk.error)
        if chunk.prompt_progress is not None:
            self._progress = chunk.prompt_progress
            self._check_window(chunk.prompt_progress.total)
            return ()
        if not chunk.choices:
            return ()
        choice = chunk.choices[0]
        self._collected += chunk.verbose.tokens
        out: list[Delta] = []
        if choice.text:
            self._check_opening(choice.text)
            if self._point is not None and choice.logprobs is not None:
                for token in choice.logprobs.content:
                    self._point.feed(token.token, ((other.token, other.logprob) for other in token.top_logprobs))
            self.written += choice.text
            if self._endless is not None:
                self._endless.feed(choice.text)
            self._keep(self._splitter.feed(choice.text), out)
        if choice.finish_reason:
            self._last = chunk
            self._keep(self._splitter.end(), out)
            if not self.sampled:
                self._first = chunk.timings
            self.sampled += chunk.timings.predicted_n
            self.met_stop = chunk.verbose.stop_type == "word"
            # A character of several tokens is sent with the last of them only: then some tokens are missing.
            whole = self.is_whole is None and chunk.verbose.stop_type == "eos"
            if whole and len(self._collected) == chunk.timings.predicted_n:
                self.tokens = tuple(self._collected[:-1])
        return out

    @property
    def read(self) -> int:
        """Tokens of the prompt."""
        return self._progress.total

    @property
    def needs_no_more(self) -> bool:
        """Return whether the rest of the reply need not be written."""
        return self._contradicted or self._is_endless

    @property
    def _contradicted(self) -> bool:
        """Return whether the reply is not what the model wanted."""
        return self._point is not None and self._point.contradicted

    @property
    def _is_endless(self) -> bool:
        return self._endless is not None and self._endless.detected

    def reply(self) -> Reply:
        options = self._point.options if self._point is not None else {}
        if self._last is None:
            if not self.needs_no_more:
                raise connection_lost(self._origin, "the runtime ended before the reply was complete")
            read = self._progress
            usage = with_cost(Usage(read.total, len(self._collected), read.cache, requests=1), self._profile.prices)
            finish = "stop" if self._contradicted else "length"
            return Reply(
                self.written, (), "", finish, usage, self._name, options=options, broken_off=self._contradicted
            )
        read, cached = self._first.cache_n + self._first.prompt_n, self._first.cache_n
        timings = self._last.timings
        written = timings.cache_n + timings.prompt_n + timings.predicted_n - read
        usage = with_cost(Usage(read, written, cached, requests=1), self._profile.prices)
        cut = self._last.choices[0].finish_reason == "length" and not self.is_whole
        finish, text, reasoning = "length" if cut else "stop", "".join(self._text), "".join(self._reasoning)
        return Reply(text, (), reasoning, finish, usage, self._name, self._last.id, options=options)

    def _check_window(self, prompt: int) -> None:
        if self.sampled:  # a part of the prompt is the reply
            return
        window = self._profile.window or 0
        if window and prompt + self._reply_tokens > window:
            text = (
                f"the prompt has {prompt} tokens and the reply needs {self._reply_tokens}, "
                f"but the window has {window}; use a larger n_ctx"
            )
            raise ContextOverflowError(self._origin.message(text), provider=self._origin.provider)

    def _check_opening(self, piece: str) -> None:
        # A schema that the constraint engine cannot compile is ignored silently: then the reply begins like prose.
        if self._opening and not self.written and not piece.startswith(self._opening):
            raise self.not_enforced()

    def not_enforced(self) -> RequestRefusedError:
        text = "the runtime cannot enforce this JSON schema: check that it is valid and that some value satisfies it"
        return RequestRefusedError(self._origin.message(text), provider=self._origin.provider)
