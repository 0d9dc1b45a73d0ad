"""The types of the AG-UI protocol: what they write is sent, and every event is read by them."""

import json
import sys
import urllib.request

from ag_ui.core import AssistantMessage, Event, FunctionCall, RunAgentInput, Tool, ToolCall, ToolMessage, UserMessage
from pydantic import TypeAdapter

address, token = sys.argv[1:]
events = TypeAdapter(Event)


def run(messages, tools=()):
    given = RunAgentInput(
        thread_id="t1", run_id="r1", state={}, messages=messages, tools=list(tools), context=[], forwarded_props={}
    )
    body = given.model_dump_json(by_alias=True).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}", "accept": "text/event-stream"}
    with urllib.request.urlopen(urllib.request.Request(f"{address}/ag-ui/looker", body, headers)) as response:
        lines = [line.decode() for line in response]
    return [events.validate_json(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def text(happened):
    return "".join(event.delta for event in happened if event.type == "TEXT_MESSAGE_CONTENT")


asked = UserMessage(id="1", content="What is there?")
plain = run([asked])
schema = {"type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]}
look = Tool(name="look", description="Looks.", parameters=schema)
wanted = [event for event in run([asked], [look]) if event.type == "TOOL_CALL_START"][-1]
made = ToolCall(id=wanted.tool_call_id, function=FunctionCall(name="look", arguments='{"where": "left"}'))
past = [asked, AssistantMessage(id="2", tool_calls=[made]), ToolMessage(id="3", content="a cat", tool_call_id=made.id)]
after = run(past, [look])
print(json.dumps({"kinds": [str(e.type.value) for e in plain], "text": text(plain), "after": text(after)}))
