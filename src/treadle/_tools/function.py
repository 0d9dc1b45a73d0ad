"""`tool`: makes a `Tool` from any callable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from treadle._tools.base import Approval, Effect, Tool
from treadle._tools.signature import read_signature
from treadle._tools.validation import check_name, trust_schema

P = ParamSpec("P")
R = TypeVar("R")


class _Decorator(Protocol):
    """What `tool(timeout=5)` gives: the type variables are those of the function that is decorated."""

    def __call__(self, function: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = 30.0,
    effect: Effect = "unsafe",
    concurrent: bool = True,
    approval: Approval = "allow",
    pinned: bool = False,
    untrusted: bool | str = False,
    defaults: Mapping[str, Any] = {},
    retries: int = 0,
    retry_wait: float = 0.5,
) -> Tool[P, R]: ...
@overload
def tool(
    function: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = 30.0,
    effect: Effect = "unsafe",
    concurrent: bool = True,
    approval: Approval = "allow",
    pinned: bool = False,
    untrusted: bool | str = False,
    defaults: Mapping[str, Any] = {},
    retries: int = 0,
    retry_wait: float = 0.5,
) -> _Decorator: ...
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
    (`pure` and `idempotent` tools only). The function may be sync (it runs in a thread), async, or a generator of text.
    A parameter annotated `ToolContext` gets the run's context, one annotated `Annotated[T, Extra]` is filled by the
    extras of the previous tool; `**kwargs` takes all of them.
    """

    def make(function: Callable[P, R]) -> Tool[P, R]:
        return _make(function, name, description, policy)

    return make if function is None else make(function)


def _make(function: Callable[P, R], name: str | None, description: str | None, policy: dict[str, Any]) -> Tool[P, R]:
    if not callable(function) or isinstance(function, type) or hasattr(function, "as_tool"):
        raise TypeError(f"tool() takes a function, a bound method or a callable object, not {function!r}")
    signature = read_signature(function)
    check_name(name or signature.name)
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
