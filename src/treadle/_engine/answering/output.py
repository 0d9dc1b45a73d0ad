"""Typed answers: an agent with an `output_type` gives a value of that type, or a clear error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._engine.core.execution import Execution
from treadle._engine.requests.model_calls import ask as ask_model
from treadle._engine.structured import structured_llm_call
from treadle._safety.beside import read_beside
from treadle._tools.schemas import Parameter, describe
from treadle._tools.validation import check_schema, checker
from treadle._types.errors import SchemaError
from treadle._types.messages import SystemMessage, UserMessage

_FIELD = "answer"
_CALLS = 2
"""How often the model is asked for the data of an answer that does not fit."""


class OutputShape(Struct, frozen=True):
    """An output type as the model is told of it, and the way back to Python."""

    schema: dict[str, Any]
    wrapped: bool
    """The type is not an object by itself: the model gives `{"answer": ...}`."""
    convert: Any

    def value_of(self, inner: Any) -> Any:
        """The Python value of an answer without the object that is put around it for the model."""
        return (self.convert({_FIELD: inner}) if self.convert else {_FIELD: inner})[_FIELD]

    def read(self, raw: Any) -> Any:
        """The Python value; raises ValueError when it does not fit."""
        return self.value_of(raw[_FIELD] if self.wrapped else raw)


FITS = "Your final answer must be one JSON object that fits this JSON Schema, and nothing else:\n"


def shape_of(output_type: Any) -> OutputShape:
    """Pydantic models, dataclasses, TypedDicts, msgspec Structs, any other type JSON can hold, or a JSON Schema."""
    if isinstance(output_type, Mapping):
        schema = dict(cast("Mapping[str, Any]", output_type))
        check_schema(schema, "answer")
        return OutputShape(schema, False, None)
    try:
        described = describe([Parameter(_FIELD, output_type)])
    except SchemaError as error:
        kind = f"{type(output_type).__name__} object" if not isinstance(output_type, type) else output_type.__name__
        raise SchemaError(
            f"output_type cannot be {kind if not isinstance(output_type, str) else repr(output_type)}: give a class "
            "(dataclass, pydantic model, TypedDict, msgspec Struct), a type that JSON can hold, such as list[str], or "
            "a JSON Schema"
        ) from error
    inner: dict[str, Any] = described.parameters["properties"][_FIELD]
    definitions = described.parameters.get("$defs")
    if inner.get("type") == "object":
        return OutputShape(inner | ({"$defs": definitions} if definitions else {}), False, described.convert)
    return OutputShape(described.parameters, True, described.convert)


def instruction(output_type: Any) -> str:
    schema = msgspec.json.encode(shape_of(output_type).schema).decode()
    return f"{FITS}{schema}"


def recorded_output(run: Execution) -> Any:
    """The typed answer of a run that ended in another process, from its last record; None when it has none."""
    finished = run.state.finished
    if finished is None or finished.output is None:
        return None
    try:
        return shape_of(run.blueprint.output_type).read(_restored(run, finished.output))
    except (ValueError, KeyError, TypeError):
        return finished.output  # the type has changed since: what was recorded is better than nothing


async def typed_answer(run: Execution, answer: str) -> tuple[Any, dict[str, Any], str]:
    """The typed value, its plain form and its text: usually the answer itself, otherwise what a structured call makes
    of it, with one more try."""
    shape = shape_of(run.blueprint.output_type)
    try:
        from treadle._dialects.reading.extract import (
            extract_json,  # its many expressions are compiled when a reply is first read
        )

        value, _ = await read_beside(len(answer), extract_json, answer)
        if isinstance(value, dict):
            raw = cast(dict[str, Any], value)
            whole = _restored(run, raw)
            if not checker(shape.schema).validate(whole):
                return shape.read(whole), raw, _text_of(raw, answer)
    except (ValueError, KeyError, TypeError):
        pass  # a draft: the structured call below says what is wanted
    messages = [
        SystemMessage(
            run.prompts.get(
                "typed_answer", "Turn the answer into the data asked for. Keep to what it says; invent nothing."
            )
        ),
        UserMessage(f"Question:\n{run.state.question}\n\nAnswer:\n{answer}"),
    ]

    async def ask(conversation: Any, **options: Any) -> Any:
        return _restored(run, await ask_model(run, "output", conversation, stream=run.log.watched, **options))

    result = await structured_llm_call(
        run.current.model, messages, shape.schema, shape.read, name="answer", ask=ask, max_calls=_CALLS
    )
    return result.value, result.raw, _text_of(result.raw)


def _text_of(raw: dict[str, Any], answer: str = "") -> str:
    """The text of an output: as it stands in the answer, without what is around it, else written anew."""
    written = answer[answer.find("{") : answer.rfind("}") + 1]
    try:
        if msgspec.json.decode(written) == raw:
            return written
    except msgspec.DecodeError:
        pass
    return msgspec.json.encode(raw).decode()


def _restored(run: Execution, raw: Any) -> Any:
    """Return what a typed answer is made of: with the data that no model has seen."""
    return raw if run.masks is None else run.masks.restored(raw)
