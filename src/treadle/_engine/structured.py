"""Structured calls: data in a given shape from any model, by the strongest means it has.

Level 1 forces a native tool call; level 2 asks for JSON (by schema where the model can) and once more if that cannot be
read; level 3 takes plain text, finds the JSON in it, tries a last resort of the caller's, and asks once more.
At most 5 calls with tools and JSON mode, 4 with JSON mode, 2 with plain text only; `max_calls` ends it before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import UNSET

from treadle._engine.surfaces.inputs import to_messages
from treadle._models.base import Model, complete, meet
from treadle._models.transport.retry import RetryPolicy
from treadle._safety.beside import read_beside
from treadle._tools.validation import check_schema, checker
from treadle._types.errors import ModelError, StructuredCallError
from treadle._types.messages import AssistantMessage, Message, UserMessage
from treadle._types.request import OutputFormat, Reply, Request, ToolSchema
from treadle._types.usage import NO_USAGE, Usage
from treadle._types.value import Value

Ask = Callable[..., Awaitable[Reply]]
"""`ask(messages, tools=, tool_choice=, format=)`: how a call is made; a run passes its own, which records it."""


class StructuredResult(Value, frozen=True):
    """What `structured_llm_call` returns: the value, how it was obtained, and what it cost."""

    value: Any
    raw: dict[str, Any]
    level: int
    """1 native call, 2 JSON mode, 3 plain text, 0 the default value."""
    calls: int
    usage: Usage


async def structured_llm_call(
    model: Model,
    messages: str | Iterable[Any],
    schema: Mapping[str, Any],
    parse_fn: Callable[[dict[str, Any]], Any] | None = None,
    regex_fallback: Callable[[str], dict[str, Any] | None] | None = None,
    default_value: Any = UNSET,
    *,
    name: str = "reply",
    description: str = "Give your reply in this shape.",
    temperature: float | None = None,
    max_tokens: int | None = None,
    retry: RetryPolicy | None = None,
    ask: Ask | None = None,
    max_calls: int = 5,
    show_schema: bool = True,
) -> StructuredResult:
    """The value, the raw object, the level that gave it, and what it cost.

    When `parse_fn` raises, the next level is tried; when every level fails, the default value is returned, or
    `StructuredCallError` raised. `show_schema=False` is for messages that say what the JSON looks like.
    """
    check_schema(schema, name)
    await meet(model)
    attempt = _Attempt(
        model, dict(schema), parse_fn, regex_fallback, name, ask or _direct(model, temperature, max_tokens, retry),
        max_calls, show_schema,
    )  # fmt: skip
    conversation = to_messages(messages)
    result = await attempt.native(conversation, description)
    result = result or await attempt.json(conversation)
    result = result or await attempt.plain(conversation)
    if result:
        return result
    if default_value is not UNSET:
        return StructuredResult(default_value, {}, 0, attempt.calls, attempt.usage)
    raise StructuredCallError(
        f"no readable {name!r} after {attempt.calls} calls of {model.name}: {attempt.problem}",
        usage=attempt.usage,
        calls=attempt.calls,
    )


class _Attempt:
    """One structured call on its way down the levels."""

    def __init__(
        self,
        model: Model,
        schema: dict[str, Any],
        parse_fn: Callable[[dict[str, Any]], Any] | None,
        regex_fallback: Callable[[str], dict[str, Any] | None] | None,
        name: str,
        ask: Ask,
        max_calls: int,
        show_schema: bool,
    ) -> None:
        self.model, self.schema, self.name = model, schema, name
        self.parse_fn, self.regex_fallback = parse_fn, regex_fallback
        self._ask, self._max_calls, self._show_schema = ask, max_calls, show_schema
        self._check = checker(schema)
        self.calls = 0
        self.usage = NO_USAGE
        self.problem = "the model was not reached"

    async def native(self, messages: list[Message], description: str) -> StructuredResult | None:
        profile = self.model.profile
        if not profile.tool_call:
            return None
        tool = ToolSchema(self.name, description, self.schema)
        reply = await self._call(messages, tools=(tool,), tool_choice=self.name if profile.forced_tool else "required")
        if reply is None:
            return None
        return await self._accept(reply, 1)

    async def json(self, messages: list[Message]) -> StructuredResult | None:
        profile = self.model.profile
        if not (profile.json_mode or profile.json_schema):
            return None
        kind = "schema" if profile.json_schema else "json"
        return await self._twice(messages, OutputFormat(kind, self.schema, name=self.name), 2)

    async def plain(self, messages: list[Message]) -> StructuredResult | None:
        return await self._twice(messages, None, 3)

    async def _twice(self, messages: list[Message], format: OutputFormat | None, level: int) -> StructuredResult | None:
        asked = [*messages]
        if self._show_schema:
            wanted = msgspec.json.encode(self.schema).decode()
            note = f"Reply with one JSON object and nothing else. It must fit this JSON Schema:\n{wanted}"
            asked.append(UserMessage(note, kind="note"))
        reply = await self._call(asked, format=format)
        if reply is None:
            return None
        if result := await self._accept(reply, level):
            return result
        again = (
            f"That could not be used: {self.problem}. Send only the corrected JSON object, "
            "starting with { and ending with }, with no other text and no code fence."
        )
        reply = await self._call(
            [*asked, AssistantMessage(reply.text), UserMessage(again, kind="reformat")], format=format
        )
        return await self._accept(reply, level) if reply is not None else None

    async def _call(self, messages: Sequence[Message], **options: Any) -> Reply | None:
        if self.calls >= self._max_calls:
            return None
        self.calls += 1
        try:
            reply = await self._ask(messages, **options)
        except ModelError as error:
            self.problem = f"{type(error).__name__}: {error}"
            self.usage += error.usage
            return None
        self.usage += reply.usage
        return reply

    async def _accept(self, reply: Reply, level: int) -> StructuredResult | None:
        """The value, if the reply holds one that fits the schema and that the caller's parser takes."""
        text = reply.calls[0].arguments if reply.calls else reply.text
        readers: list[Callable[[str], Any]] = [_value]
        if level == 3 and self.regex_fallback is not None:
            readers.append(self.regex_fallback)
        for reader in readers:
            try:
                raw = await read_beside(len(text), reader, text)
                if not isinstance(raw, dict):
                    self.problem = "there was no JSON object in it"
                    continue
                data = cast(dict[str, Any], raw)
                if problems := self._check.validate(data):
                    self.problem = "; ".join(problems[:3])
                    continue
                value = self.parse_fn(data) if self.parse_fn is not None else data
            except Exception as error:  # whatever the caller's parser raises means: not this one
                self.problem = f"{type(error).__name__}: {error}"
                continue
            return StructuredResult(value, data, level, self.calls, self.usage)
        return None


def _value(text: str) -> Any:
    from treadle._dialects.reading.extract import (
        extract_json,  # its many expressions are compiled when a reply is first read
    )

    return extract_json(text)[0]


def _direct(model: Model, temperature: float | None, max_tokens: int | None, retry: RetryPolicy | None) -> Ask:
    """Calls without a run: nothing is recorded, transient failures are tried again."""
    policy = retry or RetryPolicy()

    async def ask(messages: Sequence[Message], **options: Any) -> Reply:
        request = Request(
            messages=messages, temperature=temperature, max_tokens=max_tokens, component="structured", **options
        )
        attempt = 1
        while True:
            try:
                return await complete(model, request)
            except ModelError as error:
                if attempt >= policy.attempts or not policy.retryable(error):
                    raise
                await asyncio.sleep(policy.delay(attempt, error))
                attempt += 1

    return ask
