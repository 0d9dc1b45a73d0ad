"""The plan of the work as a list: the same steps that a planner keeps, so that every surface shows them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from treadle._types.events import PlanChanged, PlanStep


class TodoItem(Struct, frozen=True):
    text: Annotated[str, Meta(min_length=1, max_length=300)]
    state: Literal["open", "active", "done"] = "open"


TodoItems = Annotated[list[TodoItem], Meta(max_length=50, description="The whole list, in order")]
_MARKS = {"open": " ", "active": ">", "done": "x"}


async def write_list(run: Any, items: list[TodoItem]) -> str:
    """Record the list as the plan of the run."""
    steps = tuple(PlanStep(item.text, item.state == "done") for item in items)
    await run.emit(PlanChanged(steps, run.state.turn.iteration))
    return "\n".join(f"[{_MARKS[item.state]}] {item.text}" for item in items) or "the list is empty"
