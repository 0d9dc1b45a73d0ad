"""pydantic-ai, for `behaviour.py`: MODE is ask, decide, killed or again. The program keeps the messages itself."""

from __future__ import annotations

import sys
from pathlib import Path

from effect import look_up
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.messages import ModelMessagesTypeAdapter

MODE = sys.argv[1]
KEPT = Path("messages.json")
agent = Agent("openai-chat:gpt-5-mini", output_type=[str, DeferredToolRequests])


@agent.tool_plain(requires_approval=MODE in ("ask", "decide"))
def price(item: str) -> float:
    """The price of an item in dollars."""
    return look_up(item, MODE)


if MODE == "decide":
    history = ModelMessagesTypeAdapter.validate_json(KEPT.read_bytes())
    calls = [part for part in history[-1].parts if part.part_kind == "tool-call"]
    approved = DeferredToolResults(approvals={call.tool_call_id: True for call in calls})
    result = agent.run_sync(message_history=history, deferred_tool_results=approved)
else:  # messages exist when the run is over: after a kill there are none
    result = agent.run_sync("What does the lamp cost?")
KEPT.write_bytes(result.all_messages_json())
print("waits" if isinstance(result.output, DeferredToolRequests) else result.output)
