"""Python annotations as JSON Schema, and JSON values as the Python values that the annotations ask for.

msgspec does both; an annotation that contains a pydantic type is left to pydantic, which then is installed and imported
already.
"""

from __future__ import annotations

import contextlib
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, TypedDict, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from treadle._types.errors import SchemaError

_PLAIN = (str, int, bool, list, dict, None, type(None), Any, Literal, Union, types.UnionType)
"""Annotations whose JSON values need no conversion."""
_MAX_INLINED = 200
_NAME_TO_SCHEMA = ("properties", "patternProperties")
"""Keywords whose values map names to schemas."""
_PLAIN_VALUES = ("default", "const", "enum", "examples")
"""Keywords whose values are no schemas."""
_DATE_TIME = Annotated[datetime, msgspec.Meta(extra_json_schema={"format": "date-time"})]


class Described(msgspec.Struct, frozen=True):
    """The JSON Schema of some parameters, and the conversion of their values."""

    parameters: dict[str, Any]
    convert: Callable[[dict[str, Any]], dict[str, Any]] | None
    trusted: bool
    """The schema is all generated: it contains nothing that a user wrote."""


class Parameter(msgspec.Struct, frozen=True):
    name: str
    annotation: Any
    description: str = ""
    required: bool = True
    default: Any = msgspec.UNSET


def describe(parameters: list[Parameter]) -> Described:
    """The schema of an object with these parameters; `SchemaError` names the one that cannot be described."""
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for parameter in parameters:
        schema, new_definitions = _schema_of(parameter)
        for name, definition in new_definitions.items():
            if definitions.setdefault(name, definition) != definition:
                raise SchemaError(f"parameter {parameter.name!r}: two different types are named {name!r}; rename one")
        properties[parameter.name] = schema
    schema = _inline_references({"type": "object", "properties": properties}, definitions)
    required = [parameter.name for parameter in parameters if parameter.required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    annotations = {parameter.name: parameter.annotation for parameter in parameters}
    parts = {name: list(_parts(annotation, set())) for name, annotation in annotations.items()}
    trusted = not any(
        isinstance(part, msgspec.Meta) or _is_pydantic(part) for group in parts.values() for part in group
    )
    return Described(schema, _converter(annotations, parts), trusted)


def _schema_of(parameter: Parameter) -> tuple[dict[str, Any], dict[str, Any]]:
    annotation = parameter.annotation
    try:
        if any(_is_pydantic(part) for part in _parts(annotation, set())):
            schema: dict[str, Any] = _validator(annotation).json_schema(ref_template="#/$defs/{model}")
            definitions = schema.pop("$defs", {})
        else:
            (schema,), definitions = msgspec.json.schema_components(
                [_with_format(annotation)], schema_hook=_schema_hook, ref_template="#/$defs/{name}"
            )
    except Exception as error:  # a type's own hooks may raise anything
        raise SchemaError(_no_schema(parameter, error)) from error
    if parameter.description:
        schema = {**schema, "description": parameter.description}
    if parameter.default is not msgspec.UNSET:
        with contextlib.suppress(
            TypeError, ValueError, RecursionError
        ):  # a default that JSON cannot express is not shown, but still used
            schema = {**schema, "default": msgspec.json.decode(msgspec.json.encode(parameter.default))}
    return schema, definitions


def _no_schema(parameter: Parameter, error: Exception) -> str:
    kind = getattr(parameter.annotation, "__name__", str(parameter.annotation))
    reason = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
    return (
        f"parameter {parameter.name!r}: {kind} cannot be described as JSON Schema ({reason}). Annotate it with JSON "
        f"types, a dataclass, TypedDict, Enum or pydantic model; "
        f"or use Annotated[{kind}, Extra] if only another tool fills it"
    )


def _schema_hook(kind: type[Any]) -> dict[str, Any]:
    # Not imported here: that would make our own import slower, and a path annotation has imported it already.
    if "pathlib" in sys.modules and issubclass(kind, sys.modules["pathlib"].PurePath):
        return {"type": "string"}
    raise NotImplementedError


def _with_format(annotation: Any) -> Any:
    """The annotation with a format for date-times: msgspec gives none when the time zone is optional."""
    if annotation is datetime:
        return _DATE_TIME
    if get_origin(annotation) in (Union, types.UnionType):
        return Union[tuple(_with_format(member) for member in get_args(annotation))]  # noqa: UP007 - built at run time
    return annotation


def _parts(annotation: Any, seen: set[int]) -> Iterator[Any]:
    """The annotation, the types inside it, and its metadata."""
    if id(annotation) in seen:
        return
    seen.add(id(annotation))
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *metadata = get_args(annotation)
        yield from metadata
        yield from _parts(inner, seen)
    elif origin is not None:
        yield origin
        for argument in () if origin is Literal else get_args(annotation):
            yield from _parts(argument, seen)
    else:
        yield annotation
        yield from _fields(annotation, seen)


def _fields(annotation: Any, seen: set[int]) -> Iterator[Any]:
    if isinstance(annotation, type) and annotation.__module__ != "builtins" and not _is_pydantic(annotation):
        try:
            hints = get_type_hints(annotation, include_extras=True)
        except Exception:  # reported later, when the field is described
            return
        for hint in hints.values():
            yield from _parts(hint, seen)


def _is_pydantic(part: Any) -> bool:
    """Decided by module names, so that pydantic is not imported."""
    if "pydantic" not in sys.modules:
        return False
    bases = part.__mro__ if isinstance(part, type) else type(part).__mro__
    return any(base.__module__.partition(".")[0] == "pydantic" for base in bases)


def _validator(annotation: Any) -> Any:
    return sys.modules["pydantic"].TypeAdapter(annotation)


def _inline_references(schema: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without titles, and without references where possible: it must stay valid inside a larger schema."""
    try:
        return _Inliner(definitions).visit(schema, ())
    except _CannotInline:
        keep = _Inliner({})
        return {**keep.visit(schema, ()), "$defs": {name: keep.visit(node, ()) for name, node in definitions.items()}}


class _CannotInline(Exception):
    pass


class _Inliner:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self.definitions = definitions
        self.inlined = 0

    def visit(self, node: Any, inside: tuple[str, ...]) -> Any:
        if isinstance(node, list):
            return [self.visit(item, inside) for item in cast(list[Any], node)]
        if not isinstance(node, dict):
            return node
        clean: dict[str, Any] = {}
        for key, value in cast(dict[str, Any], node).items():
            if key in ("title", "discriminator"):
                continue
            if key in _NAME_TO_SCHEMA:
                clean[key] = {name: self.visit(schema, inside) for name, schema in value.items()}
            else:
                clean[key] = value if key in _PLAIN_VALUES else self.visit(value, inside)
        if "type" not in clean and all(isinstance(option, str) for option in clean.get("enum", [0])):
            clean["type"] = "string"
        return self.resolve(clean, inside)

    def resolve(self, node: dict[str, Any], inside: tuple[str, ...]) -> dict[str, Any]:
        reference = node.get("$ref")
        if not isinstance(reference, str) or not self.definitions:
            return node
        name = reference.removeprefix("#/$defs/")
        self.inlined += 1
        if name in inside or name not in self.definitions or self.inlined > _MAX_INLINED:
            raise _CannotInline
        return {
            **self.visit(self.definitions[name], (*inside, name)),
            **{key: value for key, value in node.items() if key != "$ref"},
        }


def _converter(
    annotations: Mapping[str, Any], parts: Mapping[str, list[Any]]
) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """Converts JSON arguments with msgspec, and pydantic types with pydantic; None when nothing needs it."""
    validators = {
        name: _validator(annotations[name])
        for name, group in parts.items()
        if any(_is_pydantic(part) for part in group)
    }
    needed = {
        name: annotations[name]
        for name, group in parts.items()
        if name not in validators
        and not all(part in _PLAIN for part in group if not isinstance(part, (str, msgspec.Meta)))
    }
    if not needed and not validators:
        return None
    # Built at run time, as its fields are.
    shape: Any = TypedDict("shape", needed, total=False)  # pyright: ignore[reportArgumentType]

    def convert(args: dict[str, Any]) -> dict[str, Any]:
        try:
            converted = (
                {**args, **msgspec.convert(args, shape, str_keys=True, dec_hook=_construct)} if needed else dict(args)
            )
        except msgspec.ValidationError as error:
            raise ValueError(_conversion_problem(str(error))) from None
        for name, validator in validators.items():
            if name in args:
                converted[name] = _validated(validator, name, args[name])
        return converted

    return convert


def _construct(kind: Any, value: Any) -> Any:
    """For types that msgspec does not know: paths, and types whose schema the user wrote."""
    return kind(value)


def _conversion_problem(message: str) -> str:
    text, _, path = message.partition(" - at `$.")
    return f"argument '{path.rstrip('`')}': {text}" if path else re.sub(r" - at `\$`$", "", text)


def _validated(validator: Any, name: str, value: Any) -> Any:
    try:
        return validator.validate_python(value)
    except ValueError as error:
        details: list[dict[str, Any]] = (
            cast(Any, error).errors(include_url=False, include_input=False) if hasattr(error, "errors") else []
        )
        texts = [f"argument '{'.'.join(map(str, (name, *detail['loc'])))}': {detail['msg']}" for detail in details[:8]]
        raise ValueError("; ".join(texts) or str(error)) from None
