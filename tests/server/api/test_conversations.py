"""Runs that share one conversation."""

from __future__ import annotations

from pathlib import Path

from kit import add, call, user_texts
from server.serving import serving
from treadle import Agent, ScriptedModel
from treadle._journal import open_journal


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


def test_a_run_from_elsewhere_is_a_conversation_of_its_own(tmp_path: Path):
    async def leave() -> None:
        journal = open_journal(str(tmp_path / "j.db"))
        await Agent(ScriptedModel(["hi"]), tools=None, journal=journal, name="cli").run(
            "from the terminal", run_id="terminal-run"
        )
        await journal.aclose()

    import asyncio

    asyncio.run(leave())
    model = ScriptedModel(["on we go"])
    with serving(Agent(model, tools=None), str(tmp_path / "j.db")) as client:
        assert [c["id"] for c in client.get("/api/conversations")["conversations"]] == ["terminal-run"]
        client.wait(client.start("next", conversation="terminal-run"))
        assert user_texts(model.requests[0].messages) == ["from the terminal", "next"]
        runs = client.get("/api/conversations/terminal-run")["runs"]
        assert [info["question"] for info in runs] == ["from the terminal", "next"]
        assert client.get("/api/conversations")["conversations"][0]["runs"] == 2
