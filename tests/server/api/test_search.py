"""Searching what was said and found."""

from __future__ import annotations

from kit import call
from server.serving import ANN, BOB, TOKENS, has_results, serving
from treadle import Agent, ScriptedModel, tool


@tool
async def lookup(title: str) -> str:
    """Look something up."""
    return f"The article on {title} says: basalt columns are hexagonal. " + "x" * 30_000


def _agent() -> Agent:
    return Agent(ScriptedModel(lambda r: "Nothing special." if has_results(r) else call("lookup", title="x")), [lookup])


def test_it_finds_questions_answers_and_results_of_tools_of_ones_own():
    with serving(_agent(), tokens=TOKENS) as client:
        ann, bob = client.as_user(ANN), client.as_user(BOB)
        first = ann.ran("Why is the causeway regular?")
        ann.wait(ann.start("And the rest?", conversation=first))

        def found(query: str) -> list[tuple[str, str, str]]:
            hits = ann.get(f"/api/search?q={query}")["hits"]
            return [(hit["question"], hit["where"], hit["tool"]) for hit in hits]

        assert found("CAUSEWAY") == [("Why is the causeway regular?", "question", "")]
        assert [hit[1:] for hit in found("hexagonal%20basalt")] == [("tool", "lookup")]
        assert [hit[1] for hit in found("special")] == ["answer"] * 2
        assert found("nowhere") == []
        hit = ann.get("/api/search?q=hexagonal&limit=1")
        assert "columns are hexagonal" in hit["hits"][0]["excerpt"]
        assert len(hit["hits"][0]["excerpt"]) < 200
        assert hit["hits"][0]["conversation"] == first
        some = ann.get("/api/search?q=special&limit=1")
        assert (len(some["hits"]), some["searched"], some["complete"]) == (1, 1, False)
        assert bob.get("/api/search?q=hexagonal") == {"hits": [], "searched": 0, "complete": True}
        assert client.ask("GET", "/api/search?q=hexagonal").status == 401
        assert ann.ask("GET", "/api/search?q=x").status == 400
