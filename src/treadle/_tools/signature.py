"""Reads a function's signature and docstring into what a tool needs."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import types
from collections.abc import Callable, Container, Iterable
from typing import Annotated, Any, Optional, Union, cast, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from treadle._tools.base import ToolContext
from treadle._tools.docstring import parse_docstring
from treadle._tools.schemas import Described, Parameter, describe
from treadle._types.errors import SchemaError


class Extra:
    """Marks a parameter that is filled by the extras of the previous tool.

    def query(sql: str, connection: Annotated[Connection, Extra]) -> str: ...
    """


class Signature(Struct, frozen=True):
    name: str
    description: str
    described: Described
    takes_extras: frozenset[str] | None
    required_extras: frozenset[str]
    context_param: str
    needs_deps: str
    untyped: tuple[str, ...]
    """Parameters without an annotation."""


_of_functions: WeakKeyDictionary[types.FunctionType, Signature] = WeakKeyDictionary()
_of_methods: WeakKeyDictionary[types.FunctionType, Signature] = WeakKeyDictionary()


def read_signature(function: Callable[..., Any]) -> Signature:
    """The parts of a `Tool` that come from `function`. A `SchemaError` names the parameter at fault, and the fix.

    A plain function or method is read only once: agents may be created for every request.
    """
    signatures, definition = _of_functions, cast(Any, function)
    if isinstance(function, types.MethodType):
        signatures, definition = _of_methods, function.__func__
    if not isinstance(definition, types.FunctionType):
        return _read(function)
    signature = signatures.get(definition)
    if signature is None:
        signature = signatures[definition] = _read(function)
    return signature


def _read(function: Callable[..., Any]) -> Signature:
    target = _function_of(function)
    name = _name_of(function)
    _require_self(function, name)
    description, texts = _documentation(function, target)
    bound: Container[str] = (
        cast("functools.partial[Any]", function).keywords if isinstance(function, functools.partial) else ()
    )
    parameters: list[Parameter] = []
    extras: dict[str, bool] = {}
    bare: set[str] = set()
    context_param, needs_deps, takes_all = "", "", False
    try:
        for parameter in _signature(cast(Callable[..., Any], function)).parameters.values():
            if parameter.name in bound:
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                takes_all = True
                continue
            _require_named(parameter, target)
            if parameter.annotation is parameter.empty:
                bare.add(parameter.name)
            annotation = _annotation(parameter, target)
            if _is_context(annotation):
                context_param, needs_deps = parameter.name, _deps_of_context(annotation)
            elif _is_extra(annotation):
                extras[parameter.name] = parameter.default is parameter.empty
            else:
                parameters.append(_described(parameter, annotation, texts.get(parameter.name, "")))
        described = describe(parameters)
    except SchemaError as error:
        raise SchemaError(f"function {name!r}: {error}") from error.__cause__
    required = frozenset(extra for extra, needed in extras.items() if needed)
    taken = None if takes_all else frozenset(extras)
    untyped = tuple(each.name for each in parameters if each.name in bare)
    return Signature(name, description, described, taken, required, context_param, needs_deps, untyped)


def _require_self(function: Any, name: str) -> None:
    """`def price(item: str)` inside a class: the object would be passed as the item."""
    if not inspect.ismethod(function):
        return
    first = next(iter(inspect.signature(function.__func__).parameters.values()), None)
    if first is not None and first.name not in ("self", "cls") and first.annotation is not first.empty:
        raise SchemaError(
            f"method {name!r} has no self: its first parameter {first.name!r} would receive the object; "
            f"write def {name}(self, {first.name}: ...)"
        )


def accepted_names(function: Callable[..., Any]) -> frozenset[str] | None:
    """The names `function` can be called with; None when it takes any."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return frozenset(parameter.name for parameter in parameters)


def context_parameter(function: Callable[..., Any]) -> tuple[str, str]:
    """The parameter that asks for the `ToolContext`, or "", and the type of `deps` it asks for."""
    target = _function_of(function)
    for parameter in _signature(function).parameters.values():
        with contextlib.suppress(SchemaError):  # the schema comes from the spec, so other annotations do not matter
            if _is_context(annotation := _annotation(parameter, target)):
                return parameter.name, _deps_of_context(annotation)
    return "", ""


def _described(parameter: inspect.Parameter, annotation: Any, text: str) -> Parameter:
    empty = parameter.default is parameter.empty
    inner = annotation
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        text = next((item for item in metadata if isinstance(item, str)), text)
    if parameter.default is None and inner is not Any and type(None) not in (inner, *get_args(inner)):
        annotation = Optional[annotation]  # noqa: UP045 - built at run time; this is what people mean by `x: int = None`
    default = msgspec.UNSET if empty else parameter.default
    return Parameter(parameter.name, annotation, text, required=empty, default=default)


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except NameError:
        # Python 3.14 evaluates annotations here; one name that is missing must not hide the other parameters.
        as_text: Any = {"annotation_format": 4}  # annotationlib.Format.STRING
        return inspect.signature(function, **as_text)
    except (TypeError, ValueError):
        raise SchemaError("it has no readable signature; wrap it in a function with named parameters") from None


def _require_named(parameter: inspect.Parameter, target: Any) -> None:
    name = parameter.name
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise SchemaError(f"parameter {name!r} is positional-only, but arguments are passed by name; remove the '/'")
    if parameter.kind is parameter.VAR_POSITIONAL:
        raise SchemaError(f"parameter '*{name}' takes values without names; take a list instead: {name}: list[str]")
    unbound = (
        name in ("self", "cls")
        and parameter.annotation is parameter.empty
        and "." in getattr(target, "__qualname__", "")
    )
    if unbound:
        raise SchemaError(
            f"parameter {name!r}: this is a method without its object; make the tool from an instance: tool(obj.method)"
        )


def _annotation(parameter: inspect.Parameter, target: Any) -> Any:
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return Any

    def carrier() -> None: ...

    carrier.__annotations__ = {"value": annotation}
    namespace: dict[str, Any] = getattr(target, "__globals__", {})
    try:
        return get_type_hints(carrier, namespace, include_extras=True)["value"]
    except NameError:
        pass
    try:
        return get_type_hints(carrier, namespace, _callers_names(), include_extras=True)["value"]
    except NameError as error:
        if str(annotation).rpartition(".")[2] == "ToolContext":
            return ToolContext  # imported under TYPE_CHECKING
        raise SchemaError(
            f"parameter {parameter.name!r}: its annotation {annotation!r} cannot be resolved ({error}); "
            "import the type at run time, not only under TYPE_CHECKING"
        ) from error


def _callers_names() -> dict[str, Any]:
    """Local names at the place where the tool is made: types defined inside a function are not among its globals."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - faster than inspect.currentframe
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("treadle._tools."):
        frame = frame.f_back
    return dict(frame.f_locals)


def _is_context(annotation: Any) -> bool:
    return any(ToolContext in getattr(get_origin(type_) or type_, "__mro__", ()) for type_ in _members(annotation))


def _members(annotation: Any) -> Iterable[Any]:
    """The type itself, or the members of a union (`ToolContext[Database] | None`)."""
    return (annotation,) if get_origin(annotation) not in (Union, types.UnionType) else get_args(annotation)


def _deps_of_context(annotation: Any) -> str:
    """`Database` of `ToolContext[Database]`; empty where none is named or needed (`Any`, `object`, `X | None`)."""
    for member in _members(annotation):
        for deps in get_args(member) if get_origin(member) is ToolContext else ():
            if not {Any, object, None, type(None)} & {deps, *_members(deps)}:
                return getattr(deps, "__qualname__", None) or str(deps)
    return ""


def _is_extra(annotation: Any) -> bool:
    return get_origin(annotation) is Annotated and any(
        item is Extra or isinstance(item, Extra) for item in get_args(annotation)[1:]
    )


def _function_of(function: Any) -> Any:
    """The plain function behind a partial, a method or a callable object: its globals and docstring are used."""
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function):
        function = type(function).__call__
    return inspect.unwrap(getattr(function, "__func__", function))


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


def _documentation(function: Any, target: Any) -> tuple[str, dict[str, str]]:
    description, texts = parse_docstring(inspect.getdoc(target))
    if not inspect.isroutine(function) and not isinstance(function, functools.partial):
        own, _ = parse_docstring(type(function).__doc__)
        description = own or description
    return description, texts
