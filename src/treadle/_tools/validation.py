"""Validates arguments against a tool's JSON Schema, and the schema itself when a tool is registered.

jsonschema-rs does the work. It is imported at the first validation, and each schema is compiled once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import msgspec

from treadle._types.errors import ConfigError, SchemaError

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MAX_VALUE = 80
_MAX_ERRORS = 8
_MAX_CHECKERS = 4096

_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} fields",
    "maxProperties": "at most {} fields",
    "multipleOf": "a multiple of {}",
    "pattern": "text that matches {}",
    "format": "text in the format {}",
    "const": "{}",
}


def check_name(name: str) -> None:
    """Raise `ConfigError` for a name that providers would refuse."""
    if _NAME.fullmatch(name):
        return
    suggestion = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:64] or "my_tool"
    raise ConfigError(
        f"tool name {cut_middle(name)!r} must be 1 to 64 letters, digits, '_' or '-': try name={suggestion!r}"
    )


def cut_middle(text: str, limit: int = _MAX_VALUE) -> str:
    return text if len(text) <= limit else f"{text[: limit - 23]}... ({len(text)} characters)"


class Checker:
    """Validates arguments against one schema. Get one from `checker()`, which keeps them."""

    __slots__ = ("_validator", "names", "parameters", "trusted")

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self.parameters = parameters
        self.names = _argument_names(parameters)
        """All argument names there are; None when the schema allows others."""
        self.trusted = False
        self._validator: Validator | None = None

    def compile(self) -> Validator:
        if self._validator is None:
            import jsonschema_rs

            schema = dict(self.parameters)
            self._validator = jsonschema_rs.validator_for(schema, offline=True)
        return self._validator

    def validate(self, args: dict[str, Any], ignored: Collection[str] = ()) -> list[str]:
        """List the problems of the arguments, each as a text that the model can act on.

        Problems with `ignored` arguments are left out: extras replace what the model wrote for them.

        >>> checker({"type": "object", "properties": {"count": {"type": "integer"}}}).validate({"count": "three"})
        ['argument \\'count\\': expected integer, got string "three"']
        """
        try:
            validator = self.compile()
            if validator.is_valid(args):
                return []
            errors = (error for error in validator.iter_errors(args) if not ignored or _argument(error) not in ignored)
            return [_explain(error, args) for error in islice(errors, _MAX_ERRORS)]
        except ValueError as error:
            return [f"the arguments cannot be validated: {cut_middle(str(error), 200)}"]


_checkers: dict[int, Checker] = {}


def checker(parameters: Mapping[str, Any]) -> Checker:
    """The checker of this schema object. The latest few thousand are kept."""
    existing = _checkers.get(id(parameters))
    if existing is None:
        while len(_checkers) >= _MAX_CHECKERS:
            _checkers.pop(next(iter(_checkers)), None)
        # The checker keeps the schema alive, so no other object can get its id.
        existing = _checkers[id(parameters)] = Checker(parameters)
    return existing


def check_schema(parameters: object, tool: str = "") -> None:
    """Raise `SchemaError` unless arguments can be validated against this schema. References are never fetched."""
    existing = _checkers.get(id(parameters))
    if existing is not None and existing.trusted:
        return
    where = f"tool {tool!r}" if tool else "the tool"
    if not isinstance(parameters, Mapping):
        kind = type(parameters).__name__
        raise SchemaError(f"{where}: parameters must be a JSON Schema as a dict, not {kind}")
    schema = cast(Mapping[str, Any], parameters)
    if schema.get("type") != "object":
        raise SchemaError(f'{where}: arguments come by name, so its parameters need "type": "object" at the top')
    if not isinstance(schema.get("properties", {}), Mapping):
        raise SchemaError(f'{where}: "properties" must be a dict of argument name to schema')
    try:
        checker(schema).compile()
    except ValueError as error:
        raise SchemaError(f"{where}: its parameters are not a valid JSON Schema: {_schema_problem(error)}") from None
    trust_schema(schema)


def trust_schema(parameters: Mapping[str, Any]) -> None:
    """Skip the check at registration for a schema that we generated; it is compiled when first used."""
    checker(parameters).trusted = True


def unknown_arguments(check: Checker, args: Mapping[str, Any]) -> list[str]:
    """Arguments that the schema does not name; none when the schema allows others."""
    names = check.names
    return [] if names is None or args.keys() <= names else [name for name in args if name not in names]


def problems_with(parameters: Mapping[str, Any], args: dict[str, Any]) -> list[str]:
    """List the problems of arguments that a person has written."""
    check = checker(parameters)
    if unknown := unknown_arguments(check, args):
        takes = ", ".join(sorted(check.names or ())) or "no arguments"
        names = ", ".join(f"'{cut_middle(name)}'" for name in unknown[:5])
        return [f"unknown argument {names}; it takes: {takes}"]
    return check.validate(args)


def _argument_names(parameters: Mapping[str, Any]) -> frozenset[str] | None:
    if "properties" not in parameters or parameters.get("additionalProperties", False) is not False:
        return None
    if any(keyword in parameters for keyword in ("patternProperties", "anyOf", "oneOf", "allOf", "$ref", "if")):
        return None
    return frozenset(parameters["properties"])


def _schema_problem(error: ValueError) -> str:
    message = cut_middle(str(getattr(error, "message", error)).splitlines()[0], 300)
    path = ".".join(str(step) for step in getattr(error, "instance_path", ()))
    if "Pointer" in message or "Resource" in message or "meta-schema" in message:
        return f'{message}; define it under "$defs" of the same schema: references to other documents are not fetched'
    return (
        f"at {path}: {message}; correct that keyword"
        if path
        else f"{message}; use plain JSON values and JSON Schema keywords"
    )


def _argument(error: ValidationError) -> str:
    path = error.instance_path
    return str(path[0]) if path else str(error.kind.value) if error.kind.name == "required" else ""


def _explain(error: ValidationError, args: dict[str, Any]) -> str:
    path, kind = list(error.instance_path), error.kind
    if kind.name == "required":
        return f"argument {_name([*path, kind.value])}: missing"
    if kind.name in ("additionalProperties", "unevaluatedProperties"):
        names = [_name([*path, name]) for name in kind.value[:5]]
        more = f" and {len(kind.value) - 5} more" if len(kind.value) > 5 else ""
        return f"argument {', '.join(names)}{more}: unknown"
    return f"argument {_name(path)}: expected {_expected(error)}, got {_got(_at(args, path))}"


def _expected(error: ValidationError) -> str:
    kind = error.kind
    if kind.name == "type":
        return " or ".join(kind.value)
    if kind.name == "enum":
        return "one of " + cut_middle(", ".join(_json(option) for option in kind.value), 200)
    if kind.name in ("anyOf", "oneOf") and isinstance(kind.value, list):
        branches = cast("list[list[ValidationError]]", kind.value)
        return (
            " or ".join(dict.fromkeys(_branch(branch, error) for branch in branches if branch))
            or "exactly one of the allowed forms"
        )
    if kind.name in _LIMITS:
        return _LIMITS[kind.name].format(_json(kind.value))
    return f"something else ({cut_middle(error.message, 120)})"


def _branch(errors: Sequence[ValidationError], parent: ValidationError) -> str:
    first = errors[0]
    if list(first.instance_path) == list(parent.instance_path) and first.kind.name != "required":
        return _expected(first)
    return f"something else ({cut_middle(first.message, 120)})"


def _name(path: Sequence[str | int]) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return f"'{cut_middle(text)}'" if text else "list"


def _at(args: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        args = args[step]
    return args


_KINDS = {
    type(None): "null",
    bool: "boolean",
    str: "string",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}


def _got(value: Any) -> str:
    kind = _KINDS.get(cast("type[Any]", type(value)), type(value).__name__)
    return "null" if value is None else f"{kind} {_json(value)}"


def _json(value: Any) -> str:
    if isinstance(value, str):
        value = cut_middle(value)
    return cut_middle(msgspec.json.encode(value, enc_hook=str).decode())
