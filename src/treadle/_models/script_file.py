"""A scripted model from a file, for trials, demonstrations and tests without a real model: `--model
scripted:demo.json`.

The file is a JSON list of replies, or an object with the list under `script`. A reply is

    "text"                                                a text
    {"name": "calculator", "args": {"expression": "1"}}   a tool call; a list of them is several at once
    {"text": "...", "reasoning": "...", "calls": [...]}   several of these together
    {"error": "overloaded", "status": 529}                a failure

and an object may have a `delay` in seconds. Beside `script` there may be `abilities`, `repeat_last`, and `pace`, the
seconds between streamed pieces.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._models.scripted import ScriptedModel
from treadle._safety.data import decode_json, read_text
from treadle._types.errors import ConfigError, ModelError, RequestRefusedError, TransientModelError
from treadle._types.request import RawCall, Reply, Request, StreamPart

_TRANSIENT = (408, 409, 429)
_FIELDS = ("text", "reasoning", "calls", "error", "status", "name", "args", "delay")


class Script(Struct, frozen=True, forbid_unknown_fields=True):
    script: list[Any]
    """The replies, in order."""
    abilities: dict[str, Any] = {}
    """What the model can do, such as `{"tool_call": false}`; by default everything."""
    repeat_last: bool = False
    """When the replies are used up, the last one is given again; otherwise that is an error."""
    pace: float = 0.0
    """Seconds between streamed pieces."""


class PacedModel(ScriptedModel):
    """A scripted model with a delay before each reply and a pause between streamed pieces."""

    def __init__(self, script: Script, name: str, skip: int) -> None:
        entries = script.script[skip:]
        if script.repeat_last and not entries:
            entries = script.script[-1:]
        replies = [_entry(entry, number) for number, entry in enumerate(entries, skip + 1)]
        super().__init__(replies, abilities=script.abilities, name=name, repeat_last=script.repeat_last)
        self._delays = [_delay(entry) for entry in entries]
        self._pace = script.pace

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        index = min(len(self.requests), len(self._delays) - 1)
        if index >= 0 and self._delays[index]:
            await asyncio.sleep(self._delays[index])
        async for part in super().stream(request):
            yield part
            if self._pace and not isinstance(part, Reply):
                await asyncio.sleep(self._pace)


def scripted_model(path: str, *, skip: int = 0) -> PacedModel:
    """The model that a script file describes; `skip` entries have been used before."""
    file = Path(path).expanduser()
    try:
        data = decode_json(read_text(file))
        script = msgspec.convert({"script": data} if isinstance(data, list) else data, Script)
        return PacedModel(script, f"scripted:{file.stem}", skip)
    except OSError as error:
        raise ConfigError(f"the script {path} cannot be read: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeError, ValueError) as error:
        raise ConfigError(f"the script {path} cannot be used: {error}; expected a JSON list of replies") from None


def _delay(entry: Any) -> float:
    seconds: Any = cast(Mapping[str, Any], entry).get("delay", 0) if isinstance(entry, Mapping) else 0
    return float(seconds) if isinstance(seconds, (int, float)) else 0.0


def _entry(entry: Any, number: int) -> Any:
    """An entry in the form that `ScriptedModel` takes; an invalid one raises ValueError before anything runs."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, list):
        return [_call(item, number) for item in cast(list[Any], entry)]
    if not isinstance(entry, Mapping):
        raise ValueError(f"reply {number} must be a text, a call, a list of calls or an object")
    fields = cast(Mapping[str, Any], entry)
    if "error" in fields:
        return _failure(str(fields["error"]), fields.get("status"))
    if "name" in fields:
        return _call(fields, number)
    unknown = sorted(set(fields) - {"text", "reasoning", "calls", "delay"})
    if unknown:
        raise ValueError(f"reply {number} has an unknown field {unknown[0]!r}; expected one of: {', '.join(_FIELDS)}")
    items: list[Any] = fields.get("calls") or []
    calls = tuple(
        RawCall(
            str(call.get("id", f"call_{number}_{index}")),
            call["name"],
            msgspec.json.encode(call.get("args", {})).decode(),
        )
        for index, call in enumerate([_call(item, number) for item in items])
    )
    return Reply(
        text=str(fields.get("text", "")),
        reasoning=str(fields.get("reasoning", "")),
        calls=calls,
        finish="calls" if calls else "stop",
    )


def _call(item: Any, number: int) -> dict[str, Any]:
    call = cast(dict[str, Any], item) if isinstance(item, dict) else {}
    if not isinstance(call.get("name"), str):
        raise ValueError(f'reply {number} has a call without a name; a call is {{"name": "...", "args": {{...}}}}')
    return call


def _failure(text: str, status: Any) -> ModelError:
    code = status if isinstance(status, int) else None
    if code is None:
        return ModelError(text)
    return (
        TransientModelError(text, status=code)
        if code in _TRANSIENT or code >= 500
        else RequestRefusedError(text, status=code)
    )
