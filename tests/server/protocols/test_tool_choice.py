"""`tool_choice` in every form of the protocols that have it: the client's tools are called, or not, as it says."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, call
from server.protocols.scenario import PARAMETERS, streamed
from server.serving import Client, serving
from treadle import Agent, ScriptedModel
from treadle._types.messages import ToolMessage
from treadle._types.request import Request

ASKED: Any = [{"role": "user", "content": "What is there?"}]
NAMES = ("look", "listen")


class Chat:
    path = "/v1/chat/completions"
    any, none = "required", "none"

    def tools(self) -> Any:
        return [{"type": "function", "function": {"name": name, "parameters": PARAMETERS}} for name in NAMES]

    def named(self, name: str) -> Any:
        return {"type": "function", "function": {"name": name}}

    def allowed(self, mode: str, name: str) -> Any:
        return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [self.named(name)]}}

    def body(self, past: Any = ()) -> Any:
        return {"messages": [*ASKED, *past]}

    def calls(self, answer: Any) -> Any:
        return [(one["id"], one["function"]["name"]) for one in answer["choices"][0]["message"].get("tool_calls", ())]

    def called(self, events: Any) -> Any:
        deltas = [choice["delta"] for event in events for choice in event["choices"]]
        return [one["function"]["name"] for delta in deltas for one in delta.get("tool_calls", ())]

    def result(self, call_id: str) -> Any:
        return [{"role": "tool", "tool_call_id": call_id, "content": "a cat"}]


class Responses(Chat):
    path = "/v1/responses"

    def tools(self) -> Any:
        return [{"type": "function", "name": name, "parameters": PARAMETERS} for name in NAMES]

    def named(self, name: str) -> Any:
        return {"type": "function", "name": name}

    def allowed(self, mode: str, name: str) -> Any:
        return {"type": "allowed_tools", "mode": mode, "tools": [self.named(name)]}

    def body(self, past: Any = ()) -> Any:
        return {"input": [*ASKED, *past]}

    def calls(self, answer: Any) -> Any:
        return [(one["call_id"], one["name"]) for one in answer["output"] if one["type"] == "function_call"]

    def called(self, events: Any) -> Any:
        return [name for _, name in self.calls(events[-1]["response"])]

    def result(self, call_id: str) -> Any:
        return [{"type": "function_call_output", "call_id": call_id, "output": "a cat"}]


class Anthropic(Chat):
    path = "/v1/messages"
    any, none = {"type": "any"}, {"type": "none"}  # pyright: ignore[reportAssignmentType]

    def tools(self) -> Any:
        return [{"name": name, "input_schema": PARAMETERS} for name in NAMES]

    def named(self, name: str) -> Any:
        return {"type": "tool", "name": name}

    def body(self, past: Any = ()) -> Any:
        return {"messages": [*ASKED, *past], "max_tokens": 100}

    def calls(self, answer: Any) -> Any:
        return [(one["id"], one["name"]) for one in answer["content"] if one["type"] == "tool_use"]

    def called(self, events: Any) -> Any:
        blocks = [event["content_block"] for event in events if event["type"] == "content_block_start"]
        return [one["name"] for one in blocks if one["type"] == "tool_use"]

    def result(self, call_id: str) -> Any:
        return [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": "a cat"}]}]


PROTOCOLS = [Chat(), Responses(), Anthropic()]
every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda one: one.path)


def ask(client: Client, protocol: Chat, choice: Any, past: Any = (), model: str = "obedient", status: int = 200) -> Any:
    body = {"model": model, "tools": protocol.tools(), "tool_choice": choice, **protocol.body(past)}
    answer = client.ask("POST", protocol.path, body)
    assert answer.status == status, answer.data
    if status != 200:
        return answer.error
    called = [name for _, name in protocol.calls(answer.json)]
    assert protocol.called(streamed(client, protocol.path, {**body, "stream": True})) == called
    return called


def obedient(request: Request) -> Any:
    """Adds before anything else; then calls if it must, and answers if it may."""
    asked = max(i for i, m in enumerate(request.messages) if getattr(m, "kind", "") == "question")
    if not any(isinstance(message, ToolMessage) for message in request.messages[asked:]):
        return call("add", a=2, b=3)
    return call("look", where="left") if request.tool_choice == "required" else "I see nothing."


@pytest.fixture(scope="module")
def client() -> Any:
    def stubborn(request: Request) -> Any:
        said = str(getattr(request.messages[-1], "content", ""))
        wanted = [name for name in NAMES if said.endswith(f": call {name}.")]
        return call(wanted[0], where="left") if wanted else [{"name": "look", "args": {"where": "left"}}]

    def bare(request: Request) -> Any:
        forced = [name for name in NAMES if name == request.tool_choice]
        return call(forced[0], where="left") if forced else "I see nothing."

    agents = {
        "obedient": Agent(ScriptedModel(obedient), [add]),
        "bare": Agent(ScriptedModel(bare), None),
        "stubborn": Agent(ScriptedModel(stubborn), [add]),
        "deaf": Agent(ScriptedModel([call("look", where="left")], repeat_last=True), None),
        "mute": Agent(ScriptedModel(["Words, and nothing else."], repeat_last=True), None),
    }
    with serving(agents) as server:
        yield server


@every_protocol
def test_required_none_and_auto(client: Client, protocol: Chat):
    assert ask(client, protocol, protocol.any) == ["look"], "after a call of its own tool"
    assert ask(client, protocol, protocol.none) == []
    assert ask(client, protocol, None) == []


@every_protocol
def test_a_named_tool_is_called_and_no_other_tool_of_the_client(client: Client, protocol: Chat):
    assert ask(client, protocol, protocol.named("listen"), model="bare") == ["listen"], "the model was forced to"
    assert ask(client, protocol, protocol.named("listen"), model="stubborn") == ["listen"], "it called another first"


@pytest.mark.parametrize("protocol", PROTOCOLS[:2], ids=lambda one: one.path)
def test_allowed_tools(client: Client, protocol: Chat):
    assert ask(client, protocol, protocol.allowed("required", "listen"), model="bare") == ["listen"]
    assert ask(client, protocol, protocol.allowed("auto", "listen"), model="bare") == []


@every_protocol
def test_each_request_of_a_run_has_its_own_choice(client: Client, protocol: Chat):
    def first() -> Any:
        body = {"model": "obedient", "tools": protocol.tools(), "tool_choice": protocol.any, **protocol.body()}
        [(call_id, _)] = protocol.calls(client.post(protocol.path, body))
        return protocol.result(call_id)

    assert ask(client, protocol, None, first()) == []
    assert ask(client, protocol, protocol.none, first()) == []
    for _ in range(2):  # repeated after a lost response: the same call
        result = first()
        assert ask(client, protocol, protocol.any, result) == ["look"]
        assert ask(client, protocol, protocol.any, result) == ["look"]
    assert "`tool_choice` names 'add'" in ask(client, protocol, protocol.named("add"), first(), status=400)


@every_protocol
def test_what_cannot_be_chosen_is_refused(client: Client, protocol: Chat):
    for name in ("add", "nothing"):
        said = ask(client, protocol, protocol.named(name), status=400)
        assert f"`tool_choice` names '{name}', which is not one of the request's `tools` (look, listen)" in said
    body = {"model": "obedient", "tool_choice": protocol.any, **protocol.body()}
    assert "has no `tools`" in client.ask("POST", protocol.path, body).error


def test_a_model_that_calls_what_it_must_not_ends_with_an_error_that_says_so(client: Client):
    said = ask(client, Chat(), Chat().named("listen"), model="deaf", status=424)
    assert "its last 3 replies were not usable: look cannot be called now" in said


def test_a_model_that_never_calls_ends_with_its_words(client: Client):
    body = {"model": "mute", "tools": Chat().tools(), "tool_choice": "required", **Chat().body()}
    [choice] = client.post(Chat.path, body)["choices"]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("stop", "Words, and nothing else.")
