"""What is remembered about whom, over HTTP: seen, changed and forgotten by those it is about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kit import add, call
from server.serving import ANN, BOB, TOKENS, adder, has_results, serving
from treadle import Agent, ScriptedModel
from treadle._plugins.memory.store import Memo
from treadle.plugins import Memory, MemoryStore


def remembering(path: Path) -> Agent:
    def script(request: Any) -> Any:
        if request.component == "memory_summary":
            return "Two and three make five."
        return "It is 5." if has_results(request) else call("add", a=2, b=3)

    return Agent(ScriptedModel(script), tools=[add], plugins=[Memory(MemoryStore(path), rank="text")])


def test_a_user_sees_changes_and_forgets_only_what_is_about_them(tmp_path: Path):
    path = tmp_path / "memory.db"
    MemoryStore(path).add({f"gone{n}/c": Memo(0, "bob", "demo", "Who?", "Bob.", f"Bob {n}.") for n in range(3)})
    with serving(remembering(path), tokens=TOKENS) as server:
        ann, bob = server.as_user(ANN), server.as_user(BOB)
        assert ann.get("/api/memory")["stores"] == [{"name": "demo", "agents": ["demo"], "about": {"ann": 0}}]
        run = ann.ran("What is 2 + 3?")
        assert ann.get("/api/memory")["stores"][0]["about"] == {"ann": 1}
        (memory,) = ann.get("/api/memory/demo")["memories"]
        assert (memory["user"], memory["run_id"], memory["conversation"]) == ("ann", run, run)
        assert memory["summary"] == "Two and three make five."
        place = f"/api/memory/demo/{memory['id']}"
        assert bob.ask("POST", place, {"summary": "Mine."}).status == 404
        assert bob.ask("DELETE", place).status == 404
        assert bob.ask("GET", "/api/memory/demo?user=ann").status == 404
        assert bob.ask("DELETE", "/api/memory/demo?user=ann").status == 404
        assert server.ask("GET", "/api/memory/demo").status == 401
        assert ann.post(place, {"summary": " Ann can add. "})["summary"] == "Ann can add."
        assert ann.ask("POST", place, {"summary": "  "}).status == 400
        assert ann.ask("POST", place, {"summary": "x" * 1_001}).status == 400
        assert ann.ask("DELETE", place).json == {"forgotten": 1}
        assert ann.ask("DELETE", place).status == 404
        assert ann.ask("DELETE", "/api/memory/demo").json == {"forgotten": 0}
        page = bob.get("/api/memory/demo?limit=2")
        assert ([m["summary"] for m in page["memories"]], page["more"]) == (["Bob 2.", "Bob 1."], True)
        assert page["memories"][0]["conversation"] == "", "its run is not in the journal"
        rest = bob.get(f"/api/memory/demo?limit=2&before={page['memories'][-1]['id']}")
        assert ([m["summary"] for m in rest["memories"]], rest["more"]) == (["Bob 0."], False)
        assert bob.ask("DELETE", "/api/memory/demo").json == {"forgotten": 3}
        for wrong in ("/api/memory/nobody", "/api/memory/demo/x", "/api/memory/demo/9999999999999999999999"):
            assert ann.ask("DELETE", wrong).status == 404


def test_without_tokens_there_is_one_user_who_owns_the_file(tmp_path: Path):
    path = tmp_path / "memory.db"
    store = MemoryStore(path)
    store.add({"r/1": Memo(0, "ann", "demo", "q", "a", "Ann."), "r/2": Memo(0, "bob", "demo", "q", "a", "Bob.")})
    agents = {"one": remembering(path), "two": remembering(path), "three": remembering(tmp_path / "other.db")}
    with serving(agents) as server:
        assert server.get("/api/memory")["stores"] == [
            {"name": "one", "agents": ["one", "two"], "about": {"ann": 1, "bob": 1}},
            {"name": "three", "agents": ["three"], "about": {}},
        ]
        assert server.ask("GET", "/api/memory/one").status == 400, "about whom?"
        assert [m["summary"] for m in server.get("/api/memory/one?user=bob")["memories"]] == ["Bob."]
        assert server.ask("DELETE", "/api/memory/one?user=bob").json == {"forgotten": 1}
        assert store.users() == {"ann": 1}


def test_a_server_that_remembers_nothing_says_so():
    with serving(adder()) as server:
        assert server.get("/api/memory") == {"stores": []}
        assert "plug-in Memory" in server.ask("GET", "/api/memory/demo").error


def test_a_file_that_is_none_is_told(tmp_path: Path):
    path = tmp_path / "memory.db"
    path.write_bytes(b"this is no database at all" * 100)
    with serving(remembering(path)) as server:
        answer = server.ask("GET", "/api/memory")
        assert (answer.status, str(path) in answer.error) == (503, False)
