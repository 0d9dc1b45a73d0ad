"""A hand-off: the agent at the front passes the conversation to the one who knows, whose answer is the answer."""

from treadle import Agent, Budget, ScriptedModel, tool


@tool(effect="pure")
def open_bills(customer: str) -> str:
    """The bills of a customer that are not paid."""
    return f"{customer}: 2 bills, 31 euros"


billing = Agent(
    ScriptedModel([{"name": "open_bills", "args": {"customer": "7"}}, "You have two open bills, 31 euros in all."]),
    tools=[open_bills],
    name="billing",
    description="Knows what customers owe.",
)
front = Agent(
    ScriptedModel([{"name": "transfer_to_billing", "args": {"reason": "the customer asks about bills"}}]),
    tools=[billing.as_handoff()],
    name="front",
    budget=Budget(requests=10),  # for both
)
result = front.run_sync("I am customer 7. What do I owe?")
print(result.metadata["reports"]["handoff"])
print(result.answer)
assert result.answer == "You have two open bills, 31 euros in all."
assert result.usage.requests == 3
