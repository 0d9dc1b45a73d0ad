"""A dialect of your own: how a model is told to write its calls, and how they are read.

CALL price item='desk lamp'
ANSWER The lamp costs 40 dollars.
"""

import shlex
from typing import ClassVar

from treadle import Agent, ScriptedModel, tool
from treadle.messages import ToolCall
from treadle.plugins import Decision, TextDialect, add_dialect


class LineDialect(TextDialect, frozen=True):
    name: ClassVar[str] = "lines"
    prompt: ClassVar[str] = """Every reply is one line: `CALL tool key='value'`, or `ANSWER` and your answer.
Examples (the tools in them are not yours):
{examples}

Your tools:
{tools}"""
    reformat_prompt: ClassVar[str] = "That could not be read: {problem}. Write one line: CALL ... or ANSWER ..."

    def write(self, decision):
        """A decision as the model would write it: for the examples, and for replies written in another dialect."""
        if not decision.calls:
            return f"ANSWER {decision.answer or ''}"
        call = decision.calls[0]
        return " ".join(["CALL", call.name, *(f"{key}={shlex.quote(str(value))}" for key, value in call.args.items())])

    def decode(self, reply, tools):
        """Never raises, and never reads a call where none was written."""
        word, _, rest = reply.text.strip().partition(" ")
        if word == "ANSWER":
            return Decision(answer=rest)
        try:
            name, *pairs = shlex.split(rest if word == "CALL" else "") or [""]
        except ValueError:  # a quotation mark without its partner
            name, pairs = "", []
        if name not in {tool.name for tool in tools} or not all("=" in pair for pair in pairs):
            return Decision(problem="there is neither CALL with a known tool nor ANSWER at its beginning")
        return Decision(calls=(ToolCall("call_0", name, dict(pair.split("=", 1) for pair in pairs)),))


@tool
def price(item: str) -> float:
    """The price of an item in dollars."""
    return {"desk lamp": 40.0}[item]


add_dialect(LineDialect())  # once, in every process that runs or reads such runs
model = ScriptedModel(["Let me see.", "CALL price item='desk lamp'", "ANSWER The lamp costs 40 dollars."])
result = Agent(model, tools=[price], dialect="lines").run_sync("What does the lamp cost?")
print(result.answer, [(step.tool, step.observation) for step in result.steps])
assert result.answer == "The lamp costs 40 dollars."
assert "CALL newest_record artist='Ana Le" in model.requests[0].messages[0].text
