"""What a function's signature and docstring say about it as a tool."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import types
from collections.abc import Callable, Container, Iterable
from typing import Annotated, Any, Optional, cast, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from treadle._tools.base import ToolContext
from treadle._tools.docstring import parse_docstring
from treadle._tools.schemas import Described, Parameter, describe
from treadle._types.errors import SchemaError


class Extra:
    """Marks a parameter that only the extras of an earlier tool fill; the model never sees it.

    def query(sql: str, connection: Annotated[Connection, Extra]) -> str: ...
    """


class Signature(Struct, frozen=True):
    name: str
    description: str
    described: Described
    takes_extras: frozenset[str] | None
    required_extras: frozenset[str]
    context_param: str


_known: WeakKeyDictionary[types.FunctionType, Signature] = WeakKeyDictionary()


def read_signature(function: Callable[..., Any]) -> Signature:
    """Everything a `Tool` needs to know of `function`; `SchemaError` names the parameter that stands in the way, and the fix.

    A plain function is read once: an agent that is made for every request must not pay for it again.
    """
    if not isinstance(function, types.FunctionType):
        return _read(function)
    found = _known.get(function)
    if found is None:
        found = _known[function] = _read(function)
    return found


def _read(function: Callable[..., Any]) -> Signature:
    target = _function_of(function)
    name = _name_of(function)
    description, texts = _documentation(function, target)
    bound: Container[str] = (
        cast("functools.partial[Any]", function).keywords if isinstance(function, functools.partial) else ()
    )
    parameters: list[Parameter] = []
    extras: dict[str, bool] = {}
    context_param, takes_all = "", False
    try:
        for parameter in _signature(cast(Callable[..., Any], function)).parameters.values():
            if parameter.name in bound:
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                takes_all = True
                continue
            _refuse_what_has_no_name(parameter, target)
            annotation = _annotation(parameter, target)
            if _is_context(annotation):
                context_param = parameter.name
            elif _is_extra(annotation):
                extras[parameter.name] = parameter.default is parameter.empty
            else:
                parameters.append(_described(parameter, annotation, texts.get(parameter.name, "")))
        described = describe(parameters)
    except SchemaError as error:
        raise SchemaError(f"function {name!r}: {error}") from error.__cause__
    required = frozenset(extra for extra, needed in extras.items() if needed)
    return Signature(name, description, described, None if takes_all else frozenset(extras), required, context_param)


def accepted_names(function: Callable[..., Any]) -> frozenset[str] | None:
    """The names `function` can be called with; None when it takes any."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return frozenset(parameter.name for parameter in parameters)


def context_parameter(function: Callable[..., Any]) -> str:
    """The parameter that asks for the `ToolContext`, or ""."""
    target = _function_of(function)
    for parameter in _signature(function).parameters.values():
        with contextlib.suppress(SchemaError):  # of no concern here: the schema comes from elsewhere
            if _is_context(_annotation(parameter, target)):
                return parameter.name
    return ""


def _described(parameter: inspect.Parameter, annotation: Any, text: str) -> Parameter:
    empty = parameter.default is parameter.empty
    inner = annotation
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        text = next((item for item in metadata if isinstance(item, str)), text)
    if parameter.default is None and inner is not Any and type(None) not in (inner, *get_args(inner)):
        annotation = Optional[annotation]  # noqa: UP045 - built at run time; `x: int = None` is written often and means this
    default = msgspec.UNSET if empty else parameter.default
    return Parameter(parameter.name, annotation, text, required=empty, default=default)


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except NameError:
        # From Python 3.14 on annotations are evaluated here; a name that is missing must not hide the others.
        as_text: Any = {"annotation_format": 4}  # annotationlib.Format.STRING
        return inspect.signature(function, **as_text)
    except (TypeError, ValueError):
        raise SchemaError("it shows no signature; wrap it in a function with named parameters") from None


def _refuse_what_has_no_name(parameter: inspect.Parameter, target: Any) -> None:
    name = parameter.name
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise SchemaError(f"parameter {name!r} is positional-only, but arguments come by name; remove the '/'")
    if parameter.kind is parameter.VAR_POSITIONAL:
        raise SchemaError(f"parameter '*{name}' has no name for its values; take a list instead: {name}: list[str]")
    unbound = (
        name in ("self", "cls")
        and parameter.annotation is parameter.empty
        and "." in getattr(target, "__qualname__", "")
    )
    if unbound:
        raise SchemaError(
            f"parameter {name!r} shows a method without its object; make the tool from the object: tool(obj.method)"
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
            return ToolContext  # imported for the type checker only, as one does
        message = f"parameter {parameter.name!r}: its annotation {annotation!r} cannot be resolved ({error}); import the type at run time"
        raise SchemaError(message) from error


def _callers_names() -> dict[str, Any]:
    """Local names where the tool is made: types defined inside a function are not in its globals."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - inspect.currentframe is the same with more steps
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("treadle._tools."):
        frame = frame.f_back
    return dict(frame.f_locals)


def _is_context(annotation: Any) -> bool:
    candidates: Iterable[Any] = (annotation, *get_args(annotation))
    return any(ToolContext in getattr(candidate, "__mro__", ()) for candidate in candidates)


def _is_extra(annotation: Any) -> bool:
    return get_origin(annotation) is Annotated and any(
        item is Extra or isinstance(item, Extra) for item in get_args(annotation)[1:]
    )


def _function_of(function: Any) -> Any:
    """The plain function whose globals and docstring count."""
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
