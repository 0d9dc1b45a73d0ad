"""Why a run went wrong, over HTTP: marks, a search that works in the background, and what it found."""

from __future__ import annotations

from typing import Any

from server.serving import ANN, BOB, TOKENS, relaxed, serving
from treadle import Agent, ScriptedModel
from treadle._types.request import Request
from waiting import eventually


def clerk(request: Request) -> str:
    return "About half a million." if "Always round." in str(request.messages[0]) else "522250 people."


def agent() -> Agent[Any, Any]:
    return Agent(ScriptedModel(clerk), None, system="Be polite.\nAlways round.")


def test_a_mark_a_search_and_what_it_found(tmp_path: Any):
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("Be polite.\nAlways round.")
    with serving(agent(), tokens=TOKENS, settings=relaxed(sources=(str(prompt),))) as server:
        ann, bob = server.as_user(ANN), server.as_user(BOB)
        run = ann.ran("How many people live in Lyon?")
        assert ann.get(f"/api/runs/{run}/why")["experiments"] == []
        said = ann.post(f"/api/runs/{run}/why", {}, 200)
        assert "somebody has to say what is wrong with it" in said["failed"]
        assert ann.ask("POST", f"/api/runs/{run}/expected", {}).status == 400
        assert "no step 7" in ann.ask("POST", f"/api/runs/{run}/expected", {"answer": "1", "step": 7}).error
        marked = ann.post(f"/api/runs/{run}/expected", {"answer": "522250"}, 200)
        assert [mark["answer"] for mark in marked["marks"]] == ["522250"]
        ann.post(f"/api/runs/{run}/why", {}, 200)
        eventually(lambda: ann.get(f"/api/runs/{run}/why")["causes"], "the search ends")
        found = ann.get(f"/api/runs/{run}/why")
        assert (found["running"], found["complete"], found["failed"]) == (False, True, "")
        assert found["causes"][0]["change"] == "the system prompt without 'Always round.'"
        assert found["causes"][0]["difference"].startswith("system prompt:\n")
        assert found["causes"][0]["patch"] == "", "the operator's file is not shown to ann"
        assert {one["kind"] for one in found["experiments"]} >= {"nothing", "prompt"}
        best = found["causes"][0]["run"]
        assert ann.get(f"/api/compare?first={run}&second={best}")["common"] > 0, "the fork is its owner's, too"
        assert run in [one["run_id"] for one in ann.get("/api/runs")["runs"]]
        assert best not in [one["run_id"] for one in ann.get("/api/runs")["runs"]], "experiments are in no list"
        assert ann.get(f"/api/runs/{run}")["children"] == [], "a search is about the run, not inside it"
        for path in ("why", "expected"):
            assert bob.ask("POST", f"/api/runs/{run}/{path}", {}).status == 404
        assert bob.ask("GET", f"/api/runs/{run}/why").status == 404
        assert ann.ask("POST", f"/api/runs/{best}/resume").status in (404, 409)
        assert ann.ask("POST", f"/api/runs/{best}/fork", {"at": 1}).status >= 400, "an experiment is not forked"


def test_experiments_are_never_taken_over(tmp_path: Any):
    """What a search that was killed leaves is no run that a server resumes when it starts."""
    path = tmp_path / "journal.db"
    with serving(agent(), str(path)) as server:
        run = server.ran("How many people live in Lyon?")
        server.post(f"/api/runs/{run}/expected", {"answer": "522250"}, 200)
        server.post(f"/api/runs/{run}/why", {"requests": 1}, 200)
        eventually(lambda: not server.get(f"/api/runs/{run}/why")["running"], "the search ends")
        assert not server.get(f"/api/runs/{run}/why")["complete"]
    with serving(agent(), str(path)) as server:
        left = server.get("/api/runs?status=idle")["runs"]
        assert left == []
        server.post(f"/api/runs/{run}/why", {"requests": 100}, 200)
        eventually(lambda: server.get(f"/api/runs/{run}/why")["causes"], "the search goes on")
        assert server.get(f"/api/runs/{run}/why")["complete"]
