"""Public values as plain data and back, also through FastAPI."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given, settings

from strategies import values_of
from treadle import Agent, RunResult, ScriptedModel, Usage
from treadle._types.events import Record, ToolDone
from treadle._types.messages import AssistantMessage, Message, ToolCall, UserMessage


@settings(max_examples=40)
@given(values_of(Message))
def test_messages_are_read_as_they_were_written(message: Any):
    assert type(message).from_dict(message.to_dict()) == message
    assert type(message).from_json(message.to_json()) == message


@pytest.mark.parametrize("value", [Usage(3, 4, cost=0.5), Record("r", 1, 2.0, ToolDone("c", "add", 1, "3"))])
def test_counts_and_records_too(value: Any):
    assert type(value).from_json(value.to_json()) == value
    assert msgspec.json.decode(value.to_json()) == value.to_dict()


def test_a_message_of_another_role_is_refused():
    with pytest.raises(msgspec.ValidationError, match="Invalid value 'user'"):
        AssistantMessage.from_dict(UserMessage("hi").to_dict())


def test_a_web_framework_gives_results_and_takes_messages():
    fastapi = pytest.importorskip("fastapi")
    client = pytest.importorskip("fastapi.testclient")
    agent, app = Agent(ScriptedModel(["Hello."], repeat_last=True), tools=None), fastapi.FastAPI()

    async def answered():  # as it is often written, without a type
        return await agent.run("hi")

    async def taken(message: Any) -> Any:
        return message.calls

    taken.__annotations__["message"] = Annotated[AssistantMessage, fastapi.Body()]
    app.get("/answered")(answered)
    app.get("/declared", response_model=RunResult)(answered)
    app.post("/taken", response_model=list[ToolCall])(taken)
    with client.TestClient(app) as web:
        for path in ("/answered", "/declared"):
            assert RunResult.from_dict(web.get(path).json()).answer == "Hello."
        call = ToolCall("c1", "add", {"a": 1})
        sent = AssistantMessage("I add.", (call,)).to_dict()
        assert [ToolCall.from_dict(one) for one in web.post("/taken", json=sent).json()] == [call]
