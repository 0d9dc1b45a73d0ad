"""What the server says of its agents, and a tool of one called by hand."""

from __future__ import annotations

import sys
from pathlib import Path

from kit import add
from server.serving import ANN, BOB, TOKENS, send_mail, serving
from treadle import Agent, KnowledgeBase, McpConnection, McpTools, ScriptedModel
from treadle._tools.builtin.knowledge.retrieval import retrieval


def test_tools_knowledge_bases_and_mcp_servers(tmp_path: Path):
    KnowledgeBase(tmp_path / "facts.db").add("The moon is far away.", name="moon")
    broken = McpTools(McpConnection("broken", command=sys.executable, args=["-c", "raise SystemExit(3)"], timeout=5))
    tools = [retrieval([tmp_path / "facts.db", tmp_path / "none.db"]), send_mail]
    with serving({"one": Agent(ScriptedModel([]), tools=tools, plugins=[broken])}) as client:
        (agent,) = client.get("/api/agents")["agents"]
        assert [(base["name"], base["tool"], base["exists"]) for base in agent["knowledge"]] == [
            ("facts", "retrieval", True),
            ("none", "retrieval", False),
        ]
        assert str(tmp_path) not in str(agent)
        assert agent["mcp"] == ["broken"]
        assert {tool["name"]: tool["approval"] for tool in agent["tools"]}["send_mail"] == "ask"
        (server,) = client.get("/api/agents/one/mcp")["servers"]
        assert (server["name"], server["ok"], server["tools"]) == ("broken", False, [])
        assert server["problem"]
        assert client.ask("GET", "/api/agents/nobody/mcp").status == 404


def test_a_tool_by_hand_passes_the_gate_and_is_recorded():
    with serving({"one": Agent(ScriptedModel([]), tools=[add, send_mail])}, tokens=TOKENS) as server:
        ann, bob = server.as_user(ANN), server.as_user(BOB)
        made = ann.post("/api/agents/one/tools/add", {"args": {"a": 2, "b": 3}}, 201)
        done = ann.wait(made["run_id"])
        assert (done["answer"], done["success"], done["agent"]) == ("5", True, "one (tool by hand)")
        assert ann.wait(ann.post("/api/agents/one/tools/add", {"args": {"a": "x"}}, 201)["run_id"])["success"] is False
        asked = ann.post("/api/agents/one/tools/send_mail", {"args": {"to": "bob", "text": "hi"}}, 201)["run_id"]
        (waiting,) = ann.wait(asked, "paused")["waiting"]
        assert (waiting["tool_name"], waiting["tool_args"]) == ("send_mail", {"to": "bob", "text": "hi"})
        assert bob.ask("GET", f"/api/runs/{asked}").status == 404
        ann.post(f"/api/runs/{asked}/approvals", {"call_id": waiting["call_id"], "allow": True}, 202)
        assert ann.wait(asked)["answer"] == "sent to bob"
        assert ann.ask("POST", "/api/agents/one/tools/none", {"args": {}}).status == 404
        assert ann.ask("POST", "/api/agents/none/tools/add", {"args": {}}).status == 404
        assert ann.ask("POST", "/api/agents/one/tools/add", {"args": []}).status == 400
        assert server.ask("POST", "/api/agents/one/tools/add", {"args": {}}).status == 401
        other = ann.ask("POST", "/api/agents/one/tools/add", {"args": {}}, origin="https://evil.example")
        assert other.status == 403
