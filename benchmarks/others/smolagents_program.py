"""smolagents, for `behaviour.py`: MODE is ask, decide, killed or again. Its callbacks are called after each step."""

from __future__ import annotations

import sys

from effect import look_up
from smolagents import ActionStep, OpenAIModel, ToolCallingAgent, tool

MODE = sys.argv[1]


@tool
def price(item: str) -> float:
    """The price of an item in dollars.

    Args:
        item: the item
    """
    return look_up(item, MODE)


def stop(step: ActionStep, agent: ToolCallingAgent) -> None:
    """The earliest moment at which the program is asked: the call has been made."""
    agent.interrupt()


callbacks = {ActionStep: stop} if MODE in ("ask", "decide") else None
agent = ToolCallingAgent(tools=[price], model=OpenAIModel("gpt-5-mini"), verbosity_level=0, step_callbacks=callbacks)
try:
    print(agent.run("What does the lamp cost?"))
except Exception as error:
    print("waits" if "interrupted" in str(error) else error)
