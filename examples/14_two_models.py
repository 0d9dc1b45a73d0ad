"""A supervisor on one model, a worker on another, one budget for both; and a fallback when a model fails for good."""

from treadle import Agent, Budget, RequestRefusedError, ScriptedModel, tool


@tool
def look_up(what: str) -> str:
    """Look something up."""
    return f"{what}: 42"


small = ScriptedModel([{"name": "look_up", "args": {"what": "the answer"}}, "It is 42."], name="small")
worker = Agent(small, tools=[look_up], name="researcher", description="Looks things up.")

order = {"user_prompt": "Find the answer", "reasoning": "I do not know it", "context": "none"}
large = ScriptedModel([{"name": "researcher", "args": order}, "The answer is 42."], name="large")
result = Agent(large, tools=[worker], budget=Budget(requests=10), max_tokens=500).run_sync("What is the answer?")
print(result.answer, "requests of both:", result.usage.requests)
assert result.usage.requests == 4

broken = ScriptedModel([RequestRefusedError("quota used up", status=402)], name="broken")
spare = ScriptedModel(["From the spare model."], name="spare")
result = Agent(broken, tools=[look_up], fallbacks=[spare]).run_sync("Anyone there?")
print(result.answer, result.metadata["breaks"])
assert result.metadata["model"] == "spare"
