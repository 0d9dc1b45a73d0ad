"""Code mode: the model writes Python that calls tools as functions; it runs in a sandbox without network or files."""

from treadle import Agent, ScriptedModel, tool


@tool(effect="pure")
def price(item: str) -> float:
    """The price of an item in euros."""
    return {"lamp": 40.0, "chair": 55.0, "desk": 120.0}[item]


FIRST = """```python
prices = {item: price(item=item) for item in ["lamp", "chair", "desk"]}
print(prices)
```"""
THEN = """```python
final_answer(f"All three cost {sum(prices.values())} euros.")
```"""

PLAN = """{"steps": [{"text": "look up the prices", "done": false}, {"text": "add them", "done": false}]}"""
work = iter([FIRST, THEN])
model = ScriptedModel(lambda request: PLAN if request.component == "planner" else next(work))

result = Agent(model, tools=[price], preset="code").run_sync("What do a lamp, a chair and a desk cost together?")
print(result.answer)
for step in result.steps:
    print(f"  {step.tool}: {step.observation}")
assert "215" in result.answer
