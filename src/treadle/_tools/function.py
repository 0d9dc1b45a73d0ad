"""`tool`: makes a `Tool` from any callable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload
from weakref import WeakSet

from treadle._tools.base import Approval, Effect, Tool
from treadle._tools.signature import Signature, read_signature
from treadle._tools.validation import check_name, trust_schema
from treadle._types.errors import ConfigError, nearest

P = ParamSpec("P")
R = TypeVar("R")


class ToolOptions(TypedDict, total=False):
    """The keywords of `tool`: all but the first two are fields of a `Tool`."""

    name: str | None
    description: str | None
    timeout: float | None
    effect: Effect
    concurrent: bool
    polling: bool
    approval: Approval
    pinned: bool
    untrusted: bool | str
    defaults: Mapping[str, Any]
    retries: int
    retry_wait: float
    acts: bool | None
    identifies: str | Sequence[str]
    fails_when: str | Callable[[Any], bool | str] | None
    verbs: str | Sequence[str]


POLICY = tuple(name for name in ToolOptions.__annotations__ if name not in ("name", "description"))
"""The fields of a `Tool` that its author may set, whether it is made from a function or from a class."""


class _Decorator(Protocol):
    """The type of `tool(timeout=5)`: its type variables are those of the function that is decorated."""

    def __call__(self, function: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(function: Callable[P, R], /, **options: Unpack[ToolOptions]) -> Tool[P, R]: ...
@overload
def tool(function: None = None, /, **options: Unpack[ToolOptions]) -> _Decorator: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **policy: Any,
) -> Any:
    """Make a tool from a function; the schema and the descriptions come from its signature and docstring.

        @tool
        async def weather(city: str, unit: Literal["C", "F"] = "C") -> str:
            '''The weather right now.

            Args:
                city: name of the city
            '''

    Also `@tool(name=..., timeout=5, effect="pure")`, `tool(function)` and `tool(obj.method)`. With `effect="unsafe"`
    you say that it sends, pays, deletes or executes, with `untrusted=True` that its results come from outside.
    `defaults={"unit": "C"}` are values for arguments that the model leaves out; `retries=2` repeats a call that failed
    (`pure` and `idempotent` tools only); `polling=True` may be asked for the same thing again and again until it is
    there. The function may be sync (it runs in a thread), async, or a generator of text.
    A parameter annotated `ToolContext` gets the run's context, one annotated `Annotated[T, Extra]` is filled by the
    extras of the previous tool; `**kwargs` takes all of them.

    Of a tool that acts, `identifies="order_id"` names the arguments that say what it is done to, and `fails_when` what
    counts as failure besides an exception: `r"^Error"`, or a function of the result. `verbs=("refund", "erstatt")` are
    beginnings of words for what it does: a sentence with those of another tool alone has no receipt from this one.
    """

    def make(function: Callable[P, R]) -> Tool[P, R]:
        return _make(function, name, description, policy)

    return make if function is None else make(function)


_advised: WeakSet[FunctionType] = WeakSet()


def _advise(function: Callable[..., Any], signature: Signature, description: str | None) -> None:
    """Say once for each function what a model will miss: it works, but worse than it could."""
    if not isinstance(function, FunctionType) or function in _advised:
        return
    _advised.add(function)
    if (signature.description or description) and not signature.untyped:
        return
    from treadle._safety.logs import get_logger

    logger = get_logger()
    if not signature.description and not description:
        logger.warning(
            "tool %r has no description, so a model can only guess what it is for: write a docstring, or pass "
            "description=",
            signature.name,
        )
    if signature.untyped:
        logger.warning(
            "tool %r does not say what %s may be, so a model can only guess: annotate it (%s: str)",
            signature.name, ", ".join(signature.untyped), signature.untyped[0],
        )  # fmt: skip


def _make(function: Callable[P, R], name: str | None, description: str | None, policy: dict[str, Any]) -> Tool[P, R]:
    if not callable(function) or isinstance(function, type) or hasattr(function, "as_tool"):
        raise TypeError(f"tool() takes a function, a bound method or a callable object, not {function!r}")
    for option in policy:
        if option not in POLICY:
            hint = nearest(option.replace("_", ""), POLICY, ("name", "description", *POLICY))
            raise ConfigError(f"tool() has no option {option!r}; {hint}")
    signature = read_signature(function)
    if signature.name == "<lambda>" and name is None:
        raise ConfigError(
            "a lambda has no name, no types and no description that a model could read: write a function with def, "
            "annotations and a docstring (or pass name='lambda' and description=...)"
        )
    check_name(name or signature.name)
    _advise(function, signature, description)
    if signature.described.trusted:
        trust_schema(signature.described.parameters)
    return Tool(
        name=name or signature.name,
        description=signature.description if description is None else description,
        parameters=signature.described.parameters,
        execute=function,
        takes_extras=signature.takes_extras,
        required_extras=signature.required_extras,
        context_param=signature.context_param,
        needs_deps=signature.needs_deps,
        convert=signature.described.convert,
        **policy,
    )
