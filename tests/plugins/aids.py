"""A model that plays every thinking aid: what their tests share."""

from __future__ import annotations

from typing import Any

from kit import go
from plugins.scenes import answer_in, in_dialect, structured
from treadle import Agent
from treadle._types.request import Request

STEPS = ["find the number", "double it"]


def cast(dialect: str, rounds: int, **replies: Any) -> Any:
    """A model that works for so many rounds, then answers, and plays every adviser on the side."""
    turns = 0

    def reply(request: Request) -> Any:
        nonlocal turns
        given = replies.get(request.component)
        if given is not None:
            return given(request) if callable(given) else given
        match request.component:
            case "loop":
                turns += 1
                return (
                    in_dialect(dialect, "echo", text=f"result {turns}") if turns <= rounds else answer_in(dialect, "42")
                )
            case "planner":
                done = min(turns, len(STEPS))
                return structured(
                    request, {"steps": [{"text": text, "done": index < done} for index, text in enumerate(STEPS)]}
                )
            case "observer":
                return structured(request, {"is_progressing": True, "is_in_loop": False, "reasoning": "fine"})
            case name:
                return f"{name} says so"

    return reply


def run_of(agent: Agent, question: str = "What is it?", **options: Any) -> tuple[Any, Any]:
    held: list[Any] = []

    async def main() -> Any:
        held.append(agent.start(question, **options))
        return await held[0]

    return go(main()), held[0]


HISTORY = [{"role": role, "content": f"{role} {n}"} for n in range(2) for role in ("user", "assistant")]
