"""Tools that the caller executes, through the API: declared with the run, answered in another request."""

from __future__ import annotations

from typing import Any

from kit import add, call
from server.serving import ANN, BOB, TOKENS, Client, send_mail, serving
from treadle import Agent, ScriptedModel, external_tool
from treadle._types.messages import ToolMessage
from treadle._types.request import Request

LOOK = {
    "name": "look",
    "description": "Looks at the screen of the user.",
    "parameters": {"type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]},
}


def looker() -> Agent:
    def reply(request: Request) -> Any:
        results = [message for message in request.messages if isinstance(message, ToolMessage)]
        return f"I see {results[-1].content}." if results else call("look", where="left")

    return Agent(ScriptedModel(reply), tools=[add])


def waiting(client: Client, run: str) -> dict[str, Any]:
    return client.wait(run, "paused")["waiting"][0]


def test_a_tool_of_the_caller_is_answered_by_the_caller():
    with serving(looker()) as client:
        run = client.start("What is there?", tools=[LOOK])
        call = waiting(client, run)
        assert (call["tool_name"], call["tool_args"], call["external"]) == ("look", {"where": "left"}, True)
        assert call["how"].startswith(f"POST /api/runs/{run}/results ")
        events = client.events(run, limit=3)
        client.post(f"/api/runs/{run}/results", {"call_id": call["call_id"], "content": "a cat"}, 202)
        assert client.wait(run)["answer"] == "I see a cat."
        assert [event["data"]["phase"] for event in client.events(run) if event["event"] == "phase"] == [
            "paused",
            "resumed",
            "answered",
        ]
        assert len(events) == 3


def test_what_is_not_a_result():
    with serving(
        {"demo": looker(), "mail": Agent(ScriptedModel([call("send_mail", to="a", text="b")]), [send_mail])}
    ) as client:
        run = client.start("?", tools=[LOOK])
        call_id = waiting(client, run)["call_id"]
        path = f"/api/runs/{run}/results"
        for body, status, words in (
            ({"call_id": "other", "content": "x"}, 409, f"calls that do: {call_id}"),
            ({"call_id": call_id, "content": "x", "error": "y"}, 422, "not both"),
            ({"call_id": call_id, "content": "x" * 1_000_001}, 400, "length <= 1000000"),
            ({"call_id": call_id, "contents": "x"}, 400, "contents"),
        ):
            answer = client.ask("POST", path, body)
            assert (answer.status, words in answer.error) == (status, True), answer.data
        answer = client.ask("POST", f"/api/runs/{run}/approvals", {"call_id": call_id, "allow": True})
        assert (answer.status, "waits for its result" in answer.error) == (409, True)
        answer = client.ask("POST", f"/api/runs/{run}/approvals", {"all": True})
        assert (answer.status, "no call of this run waits" in answer.error) == (409, True)
        other = client.start("?", agent="mail")
        asked = waiting(client, other)["call_id"]
        answer = client.ask("POST", f"/api/runs/{other}/results", {"call_id": asked, "content": "x"})
        assert (answer.status, "does not wait for a result" in answer.error) == (409, True)
        client.post(path, {"call_id": call_id, "error": "the screen is off"}, 202)
        assert client.wait(run)["answer"] == "I see the screen is off."
        assert client.ask("POST", path, {"call_id": call_id, "content": "late"}).status == 409


def test_tools_that_cannot_be():
    with serving(looker()) as client:
        for tool, words in (
            ({**LOOK, "name": "add"}, "the tool 'add' was brought"),
            ({**LOOK, "name": "a b"}, "name"),
            ({**LOOK, "parameters": {"type": "array"}}, '"type": "object"'),
        ):
            answer = client.ask("POST", "/api/runs", {"question": "?", "tools": [tool]})
            assert (answer.status, words in answer.error) == (400, True), answer.data


def test_a_schema_for_the_answer_of_one_run():
    agent = Agent(ScriptedModel(['{"sum": 5}']), tools=None)
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
    with serving(agent) as client:
        run = client.start("2+3?", output_schema=schema)
        assert client.wait(run)["output"] == {"sum": 5}
        answer = client.ask("POST", "/api/runs", {"question": "?", "output_schema": {"type": "string"}})
        assert answer.status == 400


def test_a_result_that_is_not_what_the_tool_returns_and_the_run_of_another_user():
    tool = external_tool("look", "x", LOOK["parameters"], returns={"type": "integer"})  # pyright: ignore
    with serving(Agent(ScriptedModel([call("look", where="left"), "ok"]), tools=[tool]), tokens=TOKENS) as server:
        ann, bob = server.as_user(ANN), server.as_user(BOB)
        run = ann.start("?")
        call_id = waiting(ann, run)["call_id"]
        assert bob.ask("POST", f"/api/runs/{run}/results", {"call_id": call_id, "content": "3"}).status == 404
        answer = ann.ask("POST", f"/api/runs/{run}/results", {"call_id": call_id, "content": "three"})
        assert (answer.status, "not what the tool returns" in answer.error) == (422, True)
        ann.post(f"/api/runs/{run}/results", {"call_id": call_id, "content": "3"}, 202)
        assert ann.wait(run)["answer"] == "ok"
        records = ann.get(f"/api/runs/{run}/records")["records"]
        assert [record["event"]["by"] for record in records if record["type"] == "tool_answered"] == ["ann"]
