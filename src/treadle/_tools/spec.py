"""Tools as classes: a `ToolSpec` describes inputs and result, a `BaseTool` implements the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import Struct

from treadle._tools.base import UNMARKED, Approval, Effect, Tool
from treadle._tools.function import POLICY
from treadle._tools.results import to_builtin
from treadle._tools.schemas import Described, Parameter, describe
from treadle._tools.signature import context_parameter
from treadle._tools.validation import check_name, check_schema, checker, trust_schema
from treadle._types.errors import ConfigError, SchemaError, ToolError

_TYPES: dict[str, Any] = {
    "string": str,
    "str": str,
    "text": str,
    "integer": int,
    "int": int,
    "float": float,
    "number": float,
    "bool": bool,
    "boolean": bool,
    "array": list,
    "list": list,
    "object": dict,
    "dict": dict,
    "any": Any,
}


class ToolParam(Struct, frozen=True):
    """One input of a tool. `ptype` is a Python type or its name; with `llm=False` only extras fill it."""

    name: str
    ptype: Any = str
    required: bool = True
    description: str = ""
    default: Any = msgspec.UNSET
    llm: bool = True

    @property
    def needed(self) -> bool:
        return self.required and self.default is msgspec.UNSET


class ToolReturn(Struct, frozen=True):
    """The result of a tool that is written as a class."""

    rtype: Any = str
    description: str = ""


class ToolSpec(Struct, frozen=True, dict=True):
    """A tool's name, description, inputs and result.

    >>> spec = ToolSpec("read", "Reads a file.", inputs=[ToolParam("path", str)])
    >>> spec.check_inputs({"path": "a.txt"})
    {'path': 'a.txt'}
    """

    name: str
    description: str = ""
    inputs: Sequence[ToolParam] = ()
    returns: ToolReturn = ToolReturn()

    @cached_property
    def described(self) -> Described:
        names = [param.name for param in self.inputs]
        if repeated := next((name for name in names if names.count(name) > 1), None):
            raise SchemaError(f"tool {self.name!r}: two inputs are named {repeated!r}; rename one")
        parameters = [
            Parameter(param.name, self._type(param), param.description, param.needed, param.default)
            for param in self.inputs
            if param.llm
        ]
        try:
            described = describe(parameters)
        except SchemaError as error:
            raise SchemaError(f"tool {self.name!r}: {error}") from error.__cause__
        if described.trusted:
            trust_schema(described.parameters)
        else:
            check_schema(described.parameters, self.name)
        return described

    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema of the inputs the model fills."""
        return self.described.parameters

    def check_inputs(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The declared inputs, validated, with defaults filled in. Other names, such as extras, are left out.

        A `ToolError` says what is missing or wrong; when a tool raises it, the model sees its text.
        """
        inputs = {param.name: kwargs[param.name] for param in self.inputs if param.name in kwargs}
        plain, problems = self._plain(inputs)
        for param in self.inputs:
            if not param.llm and param.name not in inputs and param.needed:
                problems.append(f"argument '{param.name}': missing")
        problems += checker(self.json_schema()).validate(plain, inputs.keys() - plain.keys())
        if problems:
            raise ToolError("; ".join(problems))
        convert = self.described.convert
        defaults = {param.name: param.default for param in self.inputs if param.default is not msgspec.UNSET}
        return {**defaults, **inputs, **(convert(plain) if convert else plain)}

    def _plain(self, inputs: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """The model's inputs as JSON (they may have been converted already), and problems with the other inputs."""
        plain: dict[str, Any] = {}
        problems: list[str] = []
        for param in self.inputs:
            value = inputs.get(param.name)
            if param.name not in inputs:
                continue
            if param.llm:
                try:
                    plain[param.name] = msgspec.to_builtins(value, enc_hook=_to_json)
                    continue
                except (TypeError, RecursionError):
                    fits = self._type(param) is Any
            else:
                fits = not isinstance(param.ptype, type) or isinstance(value, param.ptype)
            if not fits:
                kind = getattr(param.ptype, "__name__", param.ptype)
                problems.append(f"argument '{param.name}': expected {kind}, got {type(value).__name__}")
        return plain, problems

    def _type(self, param: ToolParam) -> Any:
        if not isinstance(param.ptype, str):
            return param.ptype
        try:
            return _TYPES[param.ptype.strip().lower()]
        except KeyError:
            expected = ", ".join(_TYPES)
            raise SchemaError(
                f"tool {self.name!r}: parameter {param.name!r} has the unknown type {param.ptype!r}; "
                f"expected a Python type or one of: {expected}"
            ) from None


def _to_json(value: Any) -> Any:
    if isinstance(value, PurePath) or hasattr(value, "model_dump"):
        return to_builtin(value)
    raise TypeError


class BaseTool:
    """A tool as a class: set `spec`, change the policy where needed, implement `__call__`, sync or async.

        class ReadFile(BaseTool):
            spec = ToolSpec("read_file", "Reads a text file.", inputs=[ToolParam("path", str)])

            def __call__(self, path: str, **extras) -> str:
                return Path(path).read_text()

    `name` and `description` of the class, where set, take precedence over those of the spec.
    """

    name: str = ""
    description: str = ""
    spec: ToolSpec
    timeout: float | None = 30.0
    effect: Effect = UNMARKED
    concurrent: bool = True
    approval: Approval = "allow"
    pinned: bool = False
    untrusted: bool | str = False
    defaults: Mapping[str, Any] = {}
    retries: int = 0
    retry_wait: float = 0.5
    polling: bool = False
    acts: bool | None = None
    identifies: tuple[str, ...] = ()
    fails_when: Any = None
    verbs: tuple[str, ...] = ()

    def __call__(self, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} needs a `__call__` method")

    def as_tool(self) -> Tool:
        spec = getattr(self, "spec", None)
        if not isinstance(spec, ToolSpec):
            raise ConfigError(
                f"{type(self).__name__} has no spec: set spec = ToolSpec(name, description, inputs=[...])"
            )
        name = self.name or spec.name
        check_name(name)
        description = self.description or spec.description
        if spec.returns.description:
            description = f"{description}\nReturns: {spec.returns.description}".strip()
        context_param, needs_deps = context_parameter(self)
        hidden = [param for param in spec.inputs if not param.llm]
        return Tool(
            name=name,
            description=description,
            parameters=spec.json_schema(),
            execute=self,
            required_extras=frozenset(param.name for param in hidden if param.needed),
            context_param=context_param,
            needs_deps=needs_deps,
            convert=spec.described.convert,
            **{setting: getattr(self, setting) for setting in POLICY},
        )
