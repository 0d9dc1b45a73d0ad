"""LangChain's ChatOpenAI: an answer, a stream, a tool of the caller, structured output."""

import json
import sys

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

address, token = sys.argv[1:]


@tool
def look(where: str) -> str:
    """Looks."""
    return "a cat"


class Sum(BaseModel):
    total: int


def model(name):
    return ChatOpenAI(model=name, base_url=f"{address}/v1", api_key=token)


asked = HumanMessage("What is there?")
whole = model("looker").invoke([asked]).content
streamed = "".join(chunk.content for chunk in model("looker").stream([asked]))
with_tool = model("looker").bind_tools([look])
first = with_tool.invoke([asked])
wanted = first.tool_calls[0]
result = ToolMessage(look.invoke(wanted["args"]), tool_call_id=wanted["id"])
after = with_tool.invoke([asked, first, result]).content
typed = model("typed").with_structured_output(Sum).invoke("2+3?").model_dump()
said = {
    "whole": whole,
    "streamed": streamed,
    "wanted": [wanted["name"], wanted["args"]],
    "after": after,
    "typed": typed,
}
print(json.dumps(said))
