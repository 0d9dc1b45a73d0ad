"""OpenAI's Responses protocol, used with the official SDK."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, call, user_texts
from server.protocols.scenario import PARAMETERS, looker, streamed
from server.serving import ANN, BOB, TOKENS, Client, Gate, held, serving
from treadle import Agent, ScriptedModel, tool
from treadle._types.errors import RequestRefusedError
from treadle._types.messages import AssistantMessage, ImagePart, UserMessage
from waiting import GUARD_SECONDS, eventually

openai = pytest.importorskip("openai", reason="the openai SDK is not installed")

LOOK: Any = {"type": "function", "name": "look", "description": "Looks.", "parameters": PARAMETERS, "strict": False}


def sdk(client: Client, token: str = "none") -> Any:
    return openai.OpenAI(base_url=f"{client.address}/v1", api_key=token, max_retries=0, timeout=GUARD_SECONDS)


def test_an_answer_whole_and_streamed():
    with serving({"looker": looker()}) as client, sdk(client) as api:
        answer = api.responses.create(model="looker", input="2+3?", instructions="Be brief.", temperature=0.1)
        assert (answer.status, answer.output_text) == ("completed", "It is 5.")
        assert answer.usage.total_tokens > 0
        shown = next(item for item in answer.output if item.type == "mcp_call")
        assert (shown.name, shown.arguments, shown.output, shown.status) == ("add", '{"a":2,"b":3}', "5", "completed")
        with api.responses.stream(model="looker", input="2+3?") as stream:
            kinds = [event.type for event in stream]
            final = stream.get_final_response()
        assert final.output_text == "It is 5."
        assert "response.output_text.delta" in kinds
        shown = next(item for item in final.output if item.type == "mcp_call")
        assert (shown.name, shown.arguments, shown.output) == ("add", '{"a":2,"b":3}', "5")


@pytest.mark.parametrize("stream", [False, True])
def test_tools_of_the_client(stream: bool):
    with serving({"looker": looker()}) as client, sdk(client) as api:

        def ask(given: Any) -> Any:
            if not stream:
                return api.responses.create(model="looker", input=given, tools=[LOOK])
            with api.responses.stream(model="looker", input=given, tools=[LOOK]) as events:
                return [event for event in events if event.type == "response.completed"][-1].response

        first = ask("What is there?")
        wanted = next(item for item in first.output if item.type == "function_call")
        assert (wanted.name, wanted.arguments) == ("look", '{"where":"left"}')
        made = {"type": "function_call_output", "call_id": wanted.call_id, "output": "a cat"}
        past = [{"role": "user", "content": "What is there?"}, *[item.model_dump() for item in first.output], made]
        answer = first
        for _ in range(2):  # repeated after a lost response: the same run, the same answer
            answer = ask(past)
            assert ([item.type for item in answer.output], answer.output_text) == (["message"], "I see a cat.")
            # LangGraph takes a message with the id of an earlier one for its new form.
            assert answer.id == api.responses.retrieve(answer.id).id != first.id
            assert not {item.id for item in answer.output} & {item.id for item in first.output}
        assert [item.type for item in api.responses.retrieve(first.id).output] == ["mcp_call", "message"]
        assert len(client.get("/api/runs")["runs"]) == 1
        again = api.responses.create(model="looker", input="2+3?", previous_response_id=answer.id)
        assert again.output_text == "It is 5."


def test_a_stream_has_the_events_of_the_providers_own():
    """An item begins without arguments and its status changes with events of its own."""

    @tool
    def fail() -> str:
        """Fails."""
        raise ValueError("no luck")

    script = [[call("add", a=2, b=3), call("fail")], call("look", where="left")]
    with serving({"a": Agent(ScriptedModel(script), tools=[add, fail])}) as client:
        events = streamed(client, "/v1/responses", {"model": "a", "input": "?", "tools": [LOOK], "stream": True})
    ids = [event["item"]["id"] for event in events if event["type"] == "response.output_item.added"]
    assert len(set(ids)) == len(ids) == 3

    def of(item_id: str) -> list[dict[str, Any]]:
        return [event for event in events if item_id in (event.get("item_id"), event.get("item", {}).get("id"))]

    def kinds(call_kind: str, *ends: str) -> list[str]:
        arguments = [f"{call_kind}_arguments.delta", f"{call_kind}_arguments.done"]
        running = ["mcp_call.in_progress"] if call_kind == "mcp_call" else []
        return [f"response.{one}" for one in ("output_item.added", *running, *arguments, *ends, "output_item.done")]

    added, failed, looked = map(of, ids)
    assert [event["type"] for event in added] == kinds("mcp_call", "mcp_call.completed")
    assert [event["type"] for event in failed] == kinds("mcp_call", "mcp_call.failed")
    assert [event["type"] for event in looked] == kinds("function_call")
    assert [added[0]["item"]["arguments"], added[2]["delta"], added[3]["arguments"]] == ["", *['{"a":2,"b":3}'] * 2]
    assert (added[-1]["item"]["output"], added[-1]["item"]["arguments"]) == ("5", '{"a":2,"b":3}')
    assert failed[-1]["item"]["error"]["type"] == "mcp_tool_execution_error"
    assert "ValueError" in failed[-1]["item"]["error"]["content"][0]["text"]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_the_parse_helper():
    from pydantic import BaseModel

    class Sum(BaseModel):
        total: int

    agent = Agent(ScriptedModel([call("add", a=2, b=3), '{"total": 5}']), tools=[add])
    with serving({"a": agent}) as client, sdk(client) as api:
        assert api.responses.parse(model="a", input="2+3?", text_format=Sum).output_parsed == Sum(total=5)


def test_a_conversation_goes_on_by_the_previous_response():
    model = ScriptedModel(["Hello Ann.", "You are Ann."])
    with serving({"a": Agent(model, tools=None)}) as client, sdk(client) as api:
        first = api.responses.create(model="a", input="I am Ann.")
        api.responses.create(model="a", input="Who am I?", previous_response_id=first.id)
        assert user_texts(model.requests[1].messages)[-2:] == ["I am Ann.", "Who am I?"]
        with pytest.raises(openai.NotFoundError):
            api.responses.create(model="a", input="Who am I?", previous_response_id="resp_nobody")


def test_an_image_and_messages_of_before():
    model = ScriptedModel(["A dot."], abilities={"vision": True})
    with serving({"a": Agent(model, tools=None)}) as client, sdk(client) as api:
        parts = [
            {"type": "input_text", "text": "What is it?"},
            {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"},
        ]
        refused = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
        past = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}, refused]
        api.responses.create(model="a", input=[*past, {"role": "user", "content": parts}])
        [asked] = [
            m for m in model.requests[0].messages if isinstance(m, UserMessage) and not isinstance(m.content, str)
        ]
        assert any(isinstance(part, ImagePart) for part in asked.content)
        assert "Hello" in user_texts(model.requests[0].messages)
        assert "No." in [m.text for m in model.requests[0].messages if isinstance(m, AssistantMessage)]


def test_errors():
    failing = Agent(ScriptedModel([RequestRefusedError("HTTP 401: wrong key", status=401)], repeat_last=True), None)
    with serving({"failing": failing}) as client, sdk(client) as api:
        with pytest.raises(openai.APIStatusError, match="wrong key") as raised:
            api.responses.create(model="failing", input="?")
        assert raised.value.status_code == 424
        with pytest.raises(openai.APIStatusError, match="wrong key"):
            api.responses.create(model="failing", input="?", stream=True)
        for wrong, words in (
            ([{"role": "assistant", "content": "x"}], "last item"),
            ([{"role": "user", "content": [{"type": "odd"}]}], "odd"),
            ([{"type": "function_call_output", "call_id": "call_1", "output": "x"}], "there is no call"),
        ):
            with pytest.raises(openai.BadRequestError, match=words):
                api.responses.create(model="failing", input=wrong)


def test_a_response_is_read_cancelled_and_deleted_by_its_id():
    gate, slow = held()
    failing = Agent(ScriptedModel([RequestRefusedError("HTTP 401: wrong key", status=401)]), None)
    working = Agent(ScriptedModel([call("slow"), "x"]), [slow])
    agents = {"looker": looker(), "failing": failing, "working": working}
    with serving(agents, tokens=TOKENS) as client, sdk(client, ANN) as api:
        made = api.responses.create(model="looker", input="2+3?")
        read = api.responses.retrieve(made.id)
        assert (read.id, read.status, read.output_text, read.model) == (made.id, "completed", "It is 5.", "looker")
        assert [item.type for item in read.output] == [item.type for item in made.output]
        assert read.usage.total_tokens == made.usage.total_tokens
        asking = api.responses.create(model="looker", input="?", tools=[LOOK])
        assert [item.type for item in api.responses.retrieve(asking.id).output] == ["mcp_call", "function_call"]
        second = api.responses.create(model="looker", input="And 2+3?", previous_response_id=made.id)
        assert api.responses.retrieve(second.id).previous_response_id == made.id
        with pytest.raises(openai.APIStatusError):
            api.responses.create(model="failing", input="?")
        failed = next(run["run_id"] for run in client.as_user(ANN).get("/api/runs?agent=failing")["runs"])
        told = api.responses.retrieve(f"resp_{failed}")
        assert (told.status, "wrong key" in told.error.message) == ("failed", True)
        run = client.as_user(ANN).start("?", agent="working")
        gate.wait_reached()
        assert api.responses.retrieve(f"resp_{run}").status == "in_progress"
        assert api.responses.cancel(f"resp_{run}").status == "cancelled"
        assert api.responses.cancel(made.id).status == "completed", "it has ended"
        api.responses.delete(made.id)
        with pytest.raises(openai.NotFoundError):
            api.responses.retrieve(made.id)
        with sdk(client, BOB) as other, pytest.raises(openai.NotFoundError):
            other.responses.retrieve(second.id)
        with pytest.raises(openai.BadRequestError, match="given whole"):
            api.responses.retrieve(second.id, stream=True)


@pytest.mark.parametrize("stream", [False, True])
def test_a_response_in_the_background_is_asked_for_by_its_id(stream: bool):
    gate = Gate()

    @tool
    async def wait() -> str:
        """Waits."""
        await gate.wait()
        return "waited"

    agent = Agent(ScriptedModel([call("wait"), "Done.", call("wait"), "Done again."]), [wait])
    with serving(agent, tokens=TOKENS) as server, sdk(server, ANN) as api:
        ask = {"model": next(iter(server.as_user(ANN).get("/v1/models")["data"]))["id"], "input": "Do it."}
        if stream:
            with api.responses.create(**ask, background=True, stream=True) as events:
                first = next(iter(events)).response  # and the client goes
        else:
            first = api.responses.create(**ask, background=True)
        assert (first.status, first.background) == ("in_progress", True)
        gate.wait_reached()
        assert api.responses.retrieve(first.id).status == "in_progress"
        if not stream:
            again = api.responses.create(**ask, background=True)
            assert again.id != first.id, "the first had its response: this is no repetition"
            api.responses.cancel(again.id)
        gate.open()
        eventually(lambda: api.responses.retrieve(first.id).status == "completed", "it is done")
        assert api.responses.retrieve(first.id).output_text.startswith("Done")
        with sdk(server, BOB) as other, pytest.raises(openai.NotFoundError):
            other.responses.retrieve(first.id)
