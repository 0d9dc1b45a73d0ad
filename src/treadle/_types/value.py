"""The base of all public values: they can be written as plain JSON values, and read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec
from msgspec import Struct


class Value(Struct, frozen=True):
    """A value whose fields JSON can hold; what a user's own type holds becomes plain data."""

    def to_dict(self) -> dict[str, Any]:
        """The value as plain JSON values; `from_dict` reads it."""
        return msgspec.to_builtins(self, enc_hook=as_data)

    def to_json(self) -> str:
        """The same as text."""
        return msgspec.json.encode(self.to_dict()).decode()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The value that `to_dict` wrote."""
        return msgspec.convert(data, cls)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The value that `to_json` wrote."""
        return cls.from_dict(msgspec.json.decode(text))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let pydantic, and with it FastAPI, take and give the value as it is."""
        from pydantic_core import core_schema  # only where pydantic asks

        def read(given: Any) -> Any:
            return given if isinstance(given, cls) else cls.from_dict(given)

        def write(value: Any) -> dict[str, Any]:
            return value.to_dict()

        writing = core_schema.plain_serializer_function_ser_schema(write)
        return core_schema.no_info_plain_validator_function(read, serialization=writing)


class EventBase(Value, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    """What every event is: a frozen value with a tag. Defaults are not written out."""


def as_data(value: Any) -> Any:
    """A value of a user's type as plain data; of an error its class and its message."""
    if isinstance(value, BaseException):
        return {"type": type(value).__name__, "message": str(value)}
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if dump is not None else str(value)
