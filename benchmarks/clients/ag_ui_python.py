# /// script
# dependencies = ["ag-ui-protocol==1.0.0"]
# ///
# pyright: basic, reportMissingImports=false
"""The types of the AG-UI protocol: what they write is sent, and every event is read by them."""

from __future__ import annotations

import urllib.request

from ag_ui.core import AssistantMessage, Event, RunAgentInput, Tool, ToolCall, ToolMessage, UserMessage
from cells import *
from pydantic import TypeAdapter

events = TypeAdapter(Event)
TOOLS = [Tool(name="look", description="Looks.", parameters=PARAMETERS)]


def happened(messages, tools=()):
    given = RunAgentInput(
        thread_id="t", run_id="r", state={}, messages=messages, tools=list(tools), context=[], forwarded_props={}
    )
    headers = {"content-type": "application/json", "authorization": f"Bearer {TOKEN}", "accept": "text/event-stream"}
    body = given.model_dump_json(by_alias=True).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{ADDRESS}/ag-ui/worker", body, headers)) as response:
        for line in response:
            if line.startswith(b"data: "):
                yield events.validate_json(line.removeprefix(b"data: "))


def asked(content):
    return UserMessage(id="1", content=content)


def text(found):
    return "".join(event.delta for event in found if event.type == "TEXT_MESSAGE_CONTENT")


def answer():
    assert any(event.type == "TOOL_CALL_RESULT" for event in happened([asked(ASK)]))


def stream():
    same(text(happened([asked(ASK)])), FIVE)


def looked(question, count):
    found = [*happened([asked(question)], TOOLS)]
    ids = [event.tool_call_id for event in found if event.type == "TOOL_CALL_START"]
    same(len(ids), count)
    written = {
        one: "".join(e.delta for e in found if e.type == "TOOL_CALL_ARGS" and e.tool_call_id == one) for one in ids
    }
    calls = [ToolCall(id=one, function={"name": "look", "arguments": written[one]}) for one in ids]
    results = [ToolMessage(id=f"r{one}", content="a cat", tool_call_id=one) for one in ids]
    return text(happened([asked(question), AssistantMessage(id="2", tool_calls=calls), *results], TOOLS))


def client_tool():
    same(looked(LOOK, 1), CAT)


def parallel():
    same(looked(LOOK_TWICE, 2), BOTH)


def image():
    picture = {"type": "image", "source": {"type": "data", "value": PICTURE, "mimeType": "image/png"}}
    same(text(happened([asked([{"type": "text", "text": SEE}, picture])])), SEEN)


def error():
    failed = [event.message for event in happened([asked(BROKEN)]) if event.type == "RUN_ERROR"]
    refused(Exception(*failed))


def abort():
    for event in happened([asked(SLOW)]):
        if event.type == "TEXT_MESSAGE_CONTENT":
            break


cells("AG-UI", ["ag-ui-protocol"], answer, stream, client_tool, parallel, image, error, abort)
