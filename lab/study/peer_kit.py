"""What the modules of the peers share: the current task, and tools as plain functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Struct

from study.rows import MAX_STEPS
from treadle._tools.base import Tool
from treadle._types.errors import ToolError

TYPES: dict[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool}


class Case(Struct, frozen=True):
    model: str
    base_url: str
    instructions: str
    question: str
    tools: list[Tool]
    on_response: Callable[[Any], None]
    """Give it the body of every reply of the server, for the count of tokens."""
    steps: int = MAX_STEPS
    schemas: bool = False
    """The tools are given by their JSON schemas, which may be of any shape, and not as annotated functions."""


def typed(tool: Tool, raises: type[Exception]) -> Callable[..., Any]:
    """A tool as a plain annotated function, with descriptions of its parameters; its errors become `raises`."""
    from pydantic import Field

    def function(**kwargs: Any) -> Any:
        try:
            return tool.execute(**kwargs)
        except ToolError as error:
            raise raises(str(error)) from None

    parameters: list[inspect.Parameter] = []
    for name, schema in tool.parameters["properties"].items():
        field = Field(
            description=schema["description"], min_length=schema.get("minLength"), max_length=schema.get("maxLength")
        )
        kind = Annotated[TYPES[schema["type"]], field]
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind))
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": str}
    function.__name__ = function.__qualname__ = tool.name
    function.__doc__ = tool.description
    function.__signature__ = inspect.Signature(parameters, return_annotation=str)  # pyright: ignore[reportFunctionMemberAccess]
    return function
