"""The OpenAI-compatible face, used with the official SDK."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit import add, call, user_texts
from server.protocols.scenario import looker, streamed
from server.serving import Client, PacedModel, held, send_mail, serving
from treadle import Agent, ScriptedModel, tool
from treadle._engine.settings import RetryPolicy
from treadle._types.errors import ContextOverflowError, RequestRefusedError, TransientModelError
from treadle._types.messages import ImagePart, UserMessage
from treadle._types.request import RawCall, Reply
from waiting import GUARD_SECONDS

openai = pytest.importorskip("openai", reason="the openai SDK is not installed")


def sdk(client: Client, token: str = "none") -> Any:
    return openai.OpenAI(base_url=f"{client.address}/v1", api_key=token, max_retries=0, timeout=GUARD_SECONDS)


def adder(**options: Any) -> tuple[ScriptedModel, Agent]:
    model = PacedModel([call("add", a=2, b=3), "It is 5.", "Two and three make five."], chunk=5)
    return model, Agent(model, tools=[add], **options)


def test_a_complete_answer():
    model, agent = adder()
    with serving({"adder": agent}) as client, sdk(client) as api:
        answer = api.chat.completions.create(
            model="adder",
            messages=[
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": "hi"},
                {"role": "user", "content": [{"type": "text", "text": "2+3?"}]},
            ],
            temperature=0.2,
            max_completion_tokens=99,
        )
        assert answer.choices[0].message.content == "It is 5."
        assert answer.choices[0].finish_reason == "stop"
        assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0
        first = model.requests[0]
        assert (first.temperature, first.max_tokens) == (0.2, 99)
        assert "Be brief." in first.messages[0].text  # pyright: ignore
        assert [text for text in user_texts(first.messages) if text == "hello"]


def test_a_streamed_answer():
    _, agent = adder(answer="synthesize")
    with serving({"adder": agent}) as client, sdk(client) as api:
        stream = api.chat.completions.create(
            model="adder",
            messages=[{"role": "user", "content": "2+3?"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = list(stream)
        assert chunks[0].choices[0].delta.role == "assistant"
        assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "Two and three make five."
        assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
        assert chunks[-1].usage.total_tokens > 0
        assert len({c.id for c in chunks}) == 1


def test_models():
    with serving({"a": adder()[1], "b": adder()[1]}) as client, sdk(client) as api:
        assert [model.id for model in api.models.list()] == ["a", "b"]
        assert api.models.retrieve("a").id == "a"
        with pytest.raises(openai.NotFoundError):
            api.models.retrieve("c")


def test_a_model_that_says_nothing_is_an_error_that_no_client_repeats():
    model = ScriptedModel([""], repeat_last=True)
    with serving({"silent": Agent(model, tools=None)}) as client:
        api = openai.OpenAI(base_url=f"{client.address}/v1", api_key="none", max_retries=2, timeout=GUARD_SECONDS)
        with api, pytest.raises(openai.APIStatusError) as raised:
            api.chat.completions.create(model="silent", messages=[{"role": "user", "content": "?"}])
        assert raised.value.status_code == 424
        assert raised.value.response.headers["x-should-retry"] == "false"
        assert raised.value.response.json()["error"]["type"] == "empty_answer"
        assert "gave no answer" in str(raised.value)
        assert len(model.requests) == 3, "the client sent its request once; the run asked its model three times"
        with sdk(client) as again, pytest.raises(openai.APIError, match="gave no answer"):
            list(
                again.chat.completions.create(model="silent", messages=[{"role": "user", "content": "?"}], stream=True)
            )


def test_what_the_sdk_raises():
    token = "a-token-of-some-length"
    failing = Agent(ScriptedModel([RequestRefusedError("HTTP 400: refused", status=400)], repeat_last=True), tools=None)
    mailing = Agent(ScriptedModel([call("send_mail", to="a", text="b")], repeat_last=True), tools=[send_mail])
    ask = {"messages": [{"role": "user", "content": "?"}]}
    with serving({"failing": failing, "mailing": mailing}, tokens={token: "ann"}) as client, sdk(client, token) as api:
        with pytest.raises(openai.APIStatusError, match="HTTP 400: refused") as raised:
            api.chat.completions.create(model="failing", **ask)
        assert (raised.value.status_code, raised.value.response.headers["x-should-retry"]) == (424, "false")
        with pytest.raises(openai.APIError, match="HTTP 400: refused"):
            list(api.chat.completions.create(model="failing", stream=True, **ask))
        with pytest.raises(openai.UnprocessableEntityError, match="/approvals"):
            api.chat.completions.create(model="mailing", **ask)
        with pytest.raises(openai.APIError, match=r"waits for approval .*/approvals"):
            list(api.chat.completions.create(model="mailing", stream=True, **ask))
        with pytest.raises(openai.NotFoundError, match="expected one of: failing, mailing"):
            api.chat.completions.create(model="nobody", **ask)
        with pytest.raises(openai.BadRequestError, match="the tool 'send_mail' was brought"):
            api.chat.completions.create(
                model="mailing", tools=[{"type": "function", "function": {"name": "send_mail"}}], **ask
            )
        with pytest.raises(openai.BadRequestError, match="last message"):
            api.chat.completions.create(model="failing", messages=[{"role": "assistant", "content": "x"}])
        with sdk(client, "wrong") as stranger, pytest.raises(openai.AuthenticationError):
            stranger.models.list()


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_stops_its_run(stream: bool):
    gate, slow = held()
    with serving(Agent(ScriptedModel([call("slow")]), tools=[slow])) as client:
        connection = client.connect()
        body = (
            b'{"model": "demo", "messages": [{"role": "user", "content": "?"}], "stream": %s}'
            % str(stream).lower().encode()
        )
        connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
        gate.wait_reached()
        assert connection.sock is not None
        connection.sock.close()
        connection.close()
        run = client.get("/api/runs")["runs"][0]["run_id"]
        assert client.wait(run)["stop_reason"] == "cancelled"


def contents(client: Client) -> list[str]:
    with sdk(client) as api:
        stream = api.chat.completions.create(model="demo", messages=[{"role": "user", "content": "?"}], stream=True)
        return [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]


def test_a_direct_answer_streams_in_pieces_and_words_before_a_call_stay_apart():
    text = "It is 3, as far as I can see."
    preamble = Reply("Let me add these.", (RawCall("c1", "add", '{"a":1,"b":2}'),), finish="calls")
    model = PacedModel([text, preamble, text, call("add", a=1, b=2), text], pause=0.02, chunk=4)
    with serving(Agent(model, tools=[add])) as client:
        pieces = contents(client)
        assert "".join(pieces) == text
        assert len([piece for piece in pieces if piece]) > 2
        assert "".join(contents(client)) == f"Let me add these.\n\n{text}"
        assert "".join(contents(client)) == text


def test_a_child_answers_its_parent_and_not_the_client():
    child = Agent(ScriptedModel(["CHILD"]), tools=None, name="helper")
    order = call("helper", user_prompt="do", reasoning="r", context="c")
    with serving(Agent(ScriptedModel([order, "BOSS"]), tools=[child.as_tool()])) as client:
        assert "".join(contents(client)) == "BOSS"


LOOK: Any = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Looks at the screen.",
        "parameters": {"type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]},
    },
}
ASK: Any = [{"role": "user", "content": "What is there?"}]


def test_tools_of_the_client_are_executed_by_the_client():
    with serving({"looker": looker()}) as client, sdk(client) as api:
        first = api.chat.completions.create(model="looker", messages=ASK, tools=[LOOK])
        [choice] = first.choices
        assert choice.finish_reason == "tool_calls"
        [wanted] = choice.message.tool_calls
        assert (wanted.function.name, wanted.function.arguments) == ("look", '{"where":"left"}')
        past = [*ASK, choice.message.model_dump(), {"role": "tool", "tool_call_id": wanted.id, "content": "a cat"}]
        for _ in range(2):  # a request that is repeated after a lost response gets the same answer, without a new run
            second = api.chat.completions.create(model="looker", messages=past, tools=[LOOK])
            assert second.choices[0].message.content == "I see a cat."
        assert len(client.get("/api/runs")["runs"]) == 1
        streamed = list(api.chat.completions.create(model="looker", messages=ASK, tools=[LOOK], stream=True))
        [piece] = [c.choices[0].delta.tool_calls[0] for c in streamed if c.choices[0].delta.tool_calls]
        assert (piece.index, piece.function.name) == (0, "look")
        assert streamed[-1].choices[0].finish_reason == "tool_calls"
        past = [*ASK, {"role": "tool", "tool_call_id": piece.id, "content": [{"type": "text", "text": "a dog"}]}]
        streamed = list(api.chat.completions.create(model="looker", messages=past, tools=[LOOK], stream=True))
        assert "".join(c.choices[0].delta.content or "" for c in streamed) == "I see a dog."


def test_results_that_nobody_asked_for():
    token, other = "a-token-of-some-length", "another-token-of-length"
    with serving({"looker": looker()}, tokens={token: "ann", other: "bob"}) as client, sdk(client, token) as api:
        for wrong in ("call_1", "call_" + "0" * 32 + "_1_0", ""):
            past = [*ASK, {"role": "tool", "tool_call_id": wrong, "content": "x"}]
            with pytest.raises((openai.BadRequestError, openai.NotFoundError)):
                api.chat.completions.create(model="looker", messages=past, tools=[LOOK])
        first = api.chat.completions.create(model="looker", messages=ASK, tools=[LOOK])
        wanted = first.choices[0].message.tool_calls[0]
        past = [*ASK, {"role": "tool", "tool_call_id": wanted.id, "content": "x"}]
        with sdk(client, other) as stranger, pytest.raises(openai.NotFoundError):
            stranger.chat.completions.create(model="looker", messages=past, tools=[LOOK])


def test_the_parse_helper_gives_the_type_asked_for():
    from pydantic import BaseModel

    class Sum(BaseModel):
        total: int

    def agent() -> Agent:
        return Agent(ScriptedModel([call("add", a=2, b=3), 'Here it is: {"total": 5}']), tools=[add])

    with serving({"a": agent(), "b": agent(), "c": agent()}) as client, sdk(client) as api:
        parsed = api.chat.completions.parse(model="a", messages=ASK, response_format=Sum)
        assert parsed.choices[0].message.parsed == Sum(total=5)
        with api.chat.completions.stream(model="b", messages=ASK, response_format=Sum) as stream:
            assert stream.get_final_completion().choices[0].message.parsed == Sum(total=5)
        plain = api.chat.completions.create(model="c", messages=ASK, response_format={"type": "json_object"})
        assert plain.choices[0].message.content == '{"total": 5}'
        with pytest.raises(openai.BadRequestError, match="needs a schema"):
            api.chat.completions.create(model="c", messages=ASK, response_format={"type": "json_schema"})


@pytest.mark.parametrize("stop", ["END", ["zzz", "END"]])
def test_the_answer_ends_before_a_stop_sequence(stop: Any):
    agent = Agent(ScriptedModel(["One, two END three"], chunk=1, repeat_last=True), tools=None)
    with serving(agent) as client, sdk(client) as api:
        whole = api.chat.completions.create(model="demo", messages=ASK, stop=stop)
        assert whole.choices[0].message.content == "One, two "
        chunks = list(api.chat.completions.create(model="demo", messages=ASK, stop=stop, stream=True))
        assert "".join(c.choices[0].delta.content or "" for c in chunks) == "One, two "


def test_a_conversation_goes_on_by_its_id():
    model = ScriptedModel(["Hello Ann.", "You are Ann."])
    with serving(Agent(model, tools=None)) as client, sdk(client) as api:
        mine = {"conversation": "with-ann"}
        api.chat.completions.create(model="demo", messages=[{"role": "user", "content": "I am Ann."}], extra_body=mine)
        again = [{"role": "user", "content": "Who am I?"}]
        api.chat.completions.create(model="demo", messages=again, extra_body=mine)
        assert user_texts(model.requests[1].messages)[-2:] == ["I am Ann.", "Who am I?"]
        assert len(client.get("/api/conversations/with-ann")["runs"]) == 2


@pytest.mark.parametrize(
    ("error", "status", "retried"),
    [
        (RequestRefusedError("HTTP 401: wrong key", status=401), 424, False),
        (ContextOverflowError("too long"), 400, False),
        (TransientModelError("HTTP 529: overloaded", status=529), 503, True),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_only_what_may_end_differently_is_worth_another_attempt(error: Any, status: int, retried: bool, stream: bool):
    model = ScriptedModel([error], repeat_last=True)
    with serving(Agent(model, tools=None, retry=RetryPolicy(attempts=1))) as client:
        api = openai.OpenAI(base_url=f"{client.address}/v1", api_key="none", max_retries=1, timeout=GUARD_SECONDS)
        with api, pytest.raises(openai.APIStatusError) as raised:
            api.chat.completions.create(model="demo", messages=ASK, stream=stream)
        assert raised.value.status_code == status
        assert len(client.get("/api/runs")["runs"]) == (2 if retried else 1)


def test_an_image():
    model = ScriptedModel(["A dot."], abilities={"vision": True})
    url = {"url": "data:image/png;base64,iVBORw0KGgo="}
    parts: Any = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": url}]
    with serving(Agent(model, tools=None)) as client, sdk(client) as api:
        api.chat.completions.create(model="demo", messages=[{"role": "user", "content": parts}])
    [asked] = [message for message in model.requests[0].messages if isinstance(message, UserMessage)]
    assert any(isinstance(part, ImagePart) for part in asked.content)


OPEN_WEBUI: Any = {
    "stream": True,
    "model": "adder",
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+3?"}],
    "stream_options": {"include_usage": True},
    "tools": [],
    "params": {},
    "features": {"image_generation": False, "code_interpreter": False, "web_search": False},
    "session_id": "s1",
    "chat_id": "c1",
    "id": "m1",
    "background_tasks": {"title_generation": True},
}
"""What Open WebUI sends for a message; its requests for a title and tags are the same with `stream: false`."""


def test_the_requests_of_open_webui():
    _, agent = adder()
    talker = Agent(ScriptedModel(['{"title": "Sums"}'], repeat_last=True), tools=None)
    with serving({"adder": agent, "talker": talker}) as client:
        assert [model["id"] for model in client.get("/v1/models")["data"]] == ["adder", "talker"]
        chunks = streamed(client, "/v1/chat/completions", OPEN_WEBUI)
        assert "".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"]) == "It is 5."
        assert chunks[-1]["usage"]["total_tokens"] > 0
        title = {"model": "talker", "messages": [{"role": "user", "content": "Title?"}], "stream": False}
        answer = client.post(
            "/v1/chat/completions", {**title, "max_completion_tokens": 1000, "metadata": {"task": "title"}}
        )
        assert answer["choices"][0]["message"]["content"] == '{"title": "Sums"}'


def test_the_ledger_is_metadata_whole_and_streamed():
    @tool(effect="unsafe", identifies="order")
    async def refund(order: int) -> str:
        """Refund."""
        return "Error: card expired"

    model = ScriptedModel([call("refund", order=4711), "All done!"] * 2)
    asked = {"model": "clerk", "messages": [{"role": "user", "content": "Refund 4711."}]}
    with serving({"clerk": Agent(model, tools=[refund])}) as client:
        whole = client.post("/v1/chat/completions", asked)
        (entry,) = json.loads(whole["metadata"]["ledger"])
        assert (entry["tool"], entry["state"], entry["args"]) == ("refund", "failed", {"order": 4711})
        assert whole["choices"][0]["message"]["content"].endswith(
            "[not done: refund (order 4711): Error: card expired]"
        )
        text = client.ask("POST", "/v1/chat/completions", {**asked, "stream": True}).data.decode()
        assert '"metadata":{"ledger":' in text
        run = client.get(f"/api/runs/{whole['id'].removeprefix('chatcmpl-')}")
        assert (run["success"], run["ledger"][0]["state"]) == (False, "failed")
