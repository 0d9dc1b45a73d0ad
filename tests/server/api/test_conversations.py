"""Runs that share one conversation."""

from __future__ import annotations

import asyncio
from pathlib import Path

from kit import add, call, user_texts
from server.serving import serving
from treadle import Agent, ScriptedModel
from treadle._journal import open_journal
from treadle._journal.base import UNDONE
from treadle._types.request import Request


def test_a_conversation_knows_its_earlier_runs():
    model = ScriptedModel([call("add", a=2, b=3), "It is 5.", "That is 4.60 euros."])
    with serving(Agent(model, tools=[add])) as client:
        first = client.post("/api/runs", {"question": "2+3 dollars?"}, 201)
        client.wait(first["run_id"])
        second = client.post("/api/runs", {"question": "and in euros?", "conversation": first["conversation"]}, 201)
        client.wait(second["run_id"])
        sent = model.requests[2].messages
        assert user_texts(sent) == ["2+3 dollars?", "and in euros?"]
        assert [type(message).__name__ for message in sent] == [
            "UserMessage",
            "AssistantMessage",
            "ToolMessage",
            "AssistantMessage",
            "UserMessage",
        ]
        listed = client.get("/api/conversations")["conversations"]
        assert [(c["id"], c["title"], c["runs"], c["last_run"]) for c in listed] == [
            (first["conversation"], "2+3 dollars?", 2, second["run_id"])
        ]
        runs = client.get(f"/api/conversations/{first['conversation']}")["runs"]
        assert [info["run_id"] for info in runs] == [first["run_id"], second["run_id"]]
        both = client.ask(
            "POST",
            "/api/runs",
            {"question": "?", "conversation": first["conversation"], "history": [{"role": "user", "content": "x"}]},
        )
        assert both.status == 400
        assert client.ask("DELETE", f"/api/conversations/{first['conversation']}").status == 200
        assert client.get("/api/conversations")["conversations"] == []
        assert client.ask("GET", f"/api/conversations/{first['conversation']}").status == 404


def test_what_was_taken_back_at_the_terminal_is_taken_back_here(tmp_path: Path):
    async def leave() -> None:
        journal = open_journal(str(tmp_path / "j.db"))
        agent = Agent(ScriptedModel(["hi", "no", "alone"]), tools=None, journal=journal)
        await agent.run("one", run_id="one", conversation="talk")
        await agent.run("two", run_id="two", conversation="talk")
        await agent.run("three", run_id="three", conversation="other")
        for run in ("two", "three"):
            await journal.annotate(run, tags=[UNDONE])
        await journal.aclose()

    asyncio.run(leave())
    model = ScriptedModel(["on we go"])
    with serving(Agent(model, tools=None), str(tmp_path / "j.db")) as client:
        assert [(c["id"], c["runs"]) for c in client.get("/api/conversations")["conversations"]] == [("talk", 1)]
        assert [info["run_id"] for info in client.get("/api/conversations/talk")["runs"]] == ["one"]
        client.wait(client.start("next", conversation="talk"))
        assert user_texts(model.requests[0].messages) == ["one", "next"]
        assert client.ask("DELETE", "/api/conversations/talk").status == 200
        assert client.ask("GET", "/api/runs/two").status == 404, "deleted with the others"


def test_a_run_from_elsewhere_is_a_conversation_of_its_own(tmp_path: Path):
    async def leave() -> None:
        journal = open_journal(str(tmp_path / "j.db"))
        await Agent(ScriptedModel(["hi"]), tools=None, journal=journal, name="cli").run(
            "from the terminal", run_id="terminal-run"
        )
        await journal.aclose()

    asyncio.run(leave())
    model = ScriptedModel(["on we go"])
    with serving(Agent(model, tools=None), str(tmp_path / "j.db")) as client:
        assert [c["id"] for c in client.get("/api/conversations")["conversations"]] == ["terminal-run"]
        client.wait(client.start("next", conversation="terminal-run"))
        assert user_texts(model.requests[0].messages) == ["from the terminal", "next"]
        runs = client.get("/api/conversations/terminal-run")["runs"]
        assert [info["question"] for info in runs] == ["from the terminal", "next"]
        assert client.get("/api/conversations")["conversations"][0]["runs"] == 2


def test_a_branch_is_exported_as_a_page():
    def script(request: Request) -> str:
        return "answer to **" + " / ".join(user_texts(request.messages)) + "**"

    with serving(Agent(ScriptedModel(script), tools=None)) as client:
        first = client.ran("one")
        second = client.ran("two", conversation=first)
        edited = client.post(f"/api/runs/{second}/fork", {"at": 0, "question": "zwei", "branch": True}, 201)["run_id"]
        client.wait(edited)
        page = client.ask("GET", f"/api/conversations/{first}/export?until={second}")
        assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert page.headers["content-disposition"].startswith("attachment")
        assert page.headers["content-security-policy"] == "sandbox"
        text = page.data.decode()
        assert "answer to **one / two**" in text
        assert "zwei" not in text
        newest = client.ask("GET", f"/api/conversations/{first}/export").data.decode()
        assert "answer to **one / zwei**" in newest
        assert "one / two" not in newest
        assert client.ask("GET", f"/api/conversations/{first}/export?until=nobody").status == 400
        assert client.ask("GET", "/api/conversations/nobody/export").status == 404


def test_branches_of_a_conversation_are_forks_of_the_log():
    def script(request: Request) -> str:
        return "answer to " + " / ".join(user_texts(request.messages))

    with serving(Agent(ScriptedModel(script), tools=None)) as client:
        first = client.ran("one")
        second = client.ran("two", conversation=first)
        edited = client.post(f"/api/runs/{second}/fork", {"at": 0, "question": "zwei", "branch": True}, 201)
        assert edited["conversation"] == first
        assert client.wait(edited["run_id"])["answer"] == "answer to one / zwei"
        kinds = [record["type"] for record in client.get(f"/api/runs/{edited['run_id']}/records")["records"]]
        assert kinds[:3] == ["run_started", "forked", "resumed"]
        again = client.post(f"/api/runs/{first}/fork", {"at": 0, "branch": True}, 201)["run_id"]
        client.wait(again)
        third = client.start("three", conversation=first, follows=second)
        assert client.wait(third)["answer"] == "answer to one / two / three"
        elsewhere = client.start("four", conversation=first, follows=edited["run_id"])
        assert client.wait(elsewhere)["answer"] == "answer to one / zwei / four"
        follows = {run["run_id"]: run["follows"] for run in client.get(f"/api/conversations/{first}")["runs"]}
        assert follows == {
            first: "",
            second: first,
            edited["run_id"]: first,
            again: "",
            third: second,
            elsewhere: edited["run_id"],
        }
        assert client.get(f"/api/runs/{again}")["created"] > client.get(f"/api/runs/{edited['run_id']}")["created"]
        short = client.get(f"/api/conversations/{first}?limit=2")
        assert [run["run_id"] for run in short["runs"]] == [third, elsewhere]
        assert short["more"] is True
        for body in ({"at": 1, "question": "x"}, {"at": 0, "question": 5}):
            assert client.ask("POST", f"/api/runs/{second}/fork", body).status == 400
        for body in ({"conversation": first, "follows": "nobody-knows"}, {"follows": first}):
            assert client.ask("POST", "/api/runs", {"question": "?", **body}).status == 400
        assert client.ask("DELETE", f"/api/conversations/{first}").status == 200
        assert client.get("/api/runs")["runs"] == []


def test_a_retry_keeps_what_was_found():
    """Without `at` a fork begins before the last model call: calls that were made are not made again."""
    model = ScriptedModel([call("add", a=2, b=3), OSError("out of order"), OSError("out of order"), "It is 5."])
    with serving(Agent(model, tools=[add], retry={"attempts": 2, "base": 0.0})) as client:
        failed = client.start("2+3?")
        assert client.wait(failed)["stop_reason"] == "error"
        retried = client.post(f"/api/runs/{failed}/fork", {"branch": True}, 201)
        assert client.wait(retried["run_id"])["answer"] == "It is 5."
        records = client.get(f"/api/runs/{retried['run_id']}/records")["records"]
        assert sum(record["type"] == "tool_started" for record in records) == 1
        runs = client.get(f"/api/conversations/{failed}")["runs"]
        assert [run["follows"] for run in runs] == ["", ""]


def test_a_conversation_can_be_renamed():
    with serving(Agent(ScriptedModel(lambda r: "yes"), tools=None)) as client:
        first = client.post("/api/runs", {"question": "What is this?"}, 201)
        client.wait(first["run_id"])
        name = first["conversation"]
        client.wait(client.post("/api/runs", {"question": "And that?", "conversation": name}, 201)["run_id"])
        assert client.post(f"/api/conversations/{name}/title", {"title": " The  garden "}) == {"title": "The garden"}

        def title(limit: int) -> str:
            return client.get(f"/api/conversations?limit={limit}")["conversations"][0]["title"]

        assert title(100) == "The garden"
        assert title(1) == "The garden", "also where its first run is too old for the list"
        assert client.post(f"/api/conversations/{name}/title", {"title": ""}) == {"title": "What is this?"}
        assert title(1) == "What is this?"
        assert client.ask("POST", f"/api/conversations/{name}/title", {"title": "x" * 201}).status in (400, 422)
        assert client.ask("POST", "/api/conversations/nothing/title", {"title": "x"}).status == 404
