"""The UI message stream of the AI SDK; `ai` itself is in test_ai_sdk.py."""

from __future__ import annotations

from typing import Any

import pytest

from server.protocols.scenario import PARAMETERS, looker, streamed
from server.serving import send_mail, serving
from treadle import Agent, ScriptedModel
from treadle._types.messages import ImagePart, UserMessage

ASKED: Any = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "What is there?"}]}
TOOLS = [{"name": "look", "description": "Looks.", "parameters": PARAMETERS}]


@pytest.fixture(scope="module")
def client() -> Any:
    mailing = Agent(
        ScriptedModel([{"name": "send_mail", "args": {"to": "a", "text": "b"}}], repeat_last=True), [send_mail]
    )
    with serving({"looker": looker(), "mailing": mailing}) as server:
        yield server


def test_an_answer_with_the_agents_own_calls(client: Any):
    body = {"id": "c1", "messages": [ASKED], "trigger": "submit-message"}
    assert client.ask("POST", "/vercel/looker", body).headers["x-vercel-ai-ui-message-stream"] == "v1"
    chunks = streamed(client, "/vercel/looker", body)
    kinds = [chunk["type"] for chunk in chunks]
    assert kinds[:2] == ["start", "start-step"]
    assert kinds[-3:] == ["text-end", "finish-step", "finish"]
    shown = next(chunk for chunk in chunks if chunk["type"] == "tool-output-available")
    assert (shown["output"], shown["providerExecuted"]) == ("5", True)
    assert "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta") == "It is 5."


@pytest.mark.parametrize("failed", [False, True])
def test_tools_of_the_page(client: Any, failed: bool):
    chunks = streamed(client, "/vercel/looker", {"messages": [ASKED], "tools": TOOLS})
    wanted = [chunk for chunk in chunks if chunk["type"] == "tool-input-available"][-1]
    assert (wanted["toolName"], wanted["input"], "providerExecuted" in wanted) == ("look", {"where": "left"}, False)
    given = (
        {"state": "output-error", "errorText": "a cat"} if failed else {"state": "output-available", "output": "a cat"}
    )
    part = {"type": "tool-look", "toolCallId": wanted["toolCallId"], "input": wanted["input"], **given}
    own = {"type": "dynamic-tool", "toolName": "add", "toolCallId": "x", "state": "output-available", "output": "5"}
    said = {"id": "m2", "role": "assistant", "parts": [{"type": "step-start"}, {**own, "providerExecuted": True}, part]}
    for _ in range(2):  # repeated after a lost response: the same run, the same answer
        chunks = streamed(client, "/vercel/looker", {"messages": [ASKED, said], "tools": TOOLS})
        assert "tool-input-available" not in [chunk["type"] for chunk in chunks], "the page has made that call itself"
        assert "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta") == "I see a cat."
    assert "messageId" not in chunks[0], "the same message goes on"


def test_a_file_and_what_was_said_before():
    model = ScriptedModel(["A dot."], abilities={"vision": True})
    picture = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,iVBORw0KGgo="}
    before = {"id": "m0", "role": "assistant", "parts": [{"type": "text", "text": "Hello."}]}
    with serving({"a": Agent(model, None)}) as server:
        asked = {**ASKED, "parts": [*ASKED["parts"], picture]}
        streamed(server, "/vercel/a", {"messages": [ASKED, before, asked]})
    question = [message for message in model.requests[0].messages if isinstance(message, UserMessage)][-1]
    assert any(isinstance(part, ImagePart) for part in question.content)


def test_errors(client: Any):
    [*_, last] = streamed(client, "/vercel/mailing", {"messages": [ASKED]})
    assert (last["type"], "waits for approval" in last["errorText"]) == ("error", True)
    assert client.ask("POST", "/vercel/nobody", {"messages": [ASKED]}).status == 404
    assert client.ask("POST", "/vercel/looker", {"messages": [{"role": "assistant", "parts": []}]}).status == 400
