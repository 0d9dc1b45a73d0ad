"""No call whose policy says ask or deny ever executes without a recorded yes: over random runs of every kind."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.unapproved_calls import Case, Judge, World, cases, focused
from kit import call, go
from treadle import DagAgent, ScriptedModel
from treadle._config.document import parse_document
from treadle._config.graph import GraphAgent
from virtual_time import go_virtual

PRESETS = st.sampled_from(["default", "two_phase", "streaming", "strict", "reflective", "planned"])
DIALECTS = st.sampled_from(["auto", "auto:json", "json", "action", "array", "schema", "brief"])


def over(examples: int, strategy: st.SearchStrategy[Case], live: Callable[[Case, Counter[str]], World]) -> Counter[str]:
    """Live through so many cases and judge each; return what happened in all of them together.

    They are the same in each run, so that it is known what they reach; with TREADLE_LONG_TESTS, five times as many
    that are drawn anew.
    """
    counts: Counter[str] = Counter()
    new = bool(os.environ.get("TREADLE_LONG_TESTS"))

    @settings(
        max_examples=examples * 5 if new else examples, derandomize=not new, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def run(case: Case) -> None:
        counts["cases"] += 1
        Judge(live(case, counts)).check()

    run()
    return counts


def lives(case: Case, counts: Counter[str]) -> World:
    world = World(case, counts)
    go_virtual(world.live())
    return world


def test_presets_swaps_children_mcp_resumes_and_forks():
    counts = over(100, cases(preset=PRESETS), lives)
    assert min(counts[what] for what in ("asked and allowed", "resumes", "forks"))
    assert counts["approver: times out"]


def test_what_was_read_from_outside():
    asking = st.sampled_from([["yes"], ["always"], ["yes"], [], ["no"], ["1"], ["raises"]])
    drawn = {"script": focused, "clerk": focused, "ask": st.just(()), "afters": st.just([]), "answers": asking}
    counts = over(50, cases(**drawn, swap=st.just(0), provenance=st.sampled_from(["ask", "ask", "deny"])), lives)
    assert counts["tainted and unsaid"]


def test_dialects():
    counts = over(80, cases(dialect=DIALECTS, native=st.booleans()), lives)
    assert counts["asked and allowed"]


def test_code():
    pytest.importorskip("pydantic_monty")

    def in_code(case: Case, counts: Counter[str]) -> World:
        world = World(case, counts)
        go(world.live())
        return world

    counts = over(50, cases(preset=st.just("code"), native=st.just(False)), in_code)
    assert counts["asked and allowed"]


def test_plans():
    def planned(case: Case, counts: Counter[str]) -> World:
        world = World(case, counts)
        steps = [{"id": "a", "task": "read", "dependencies": []}, {"id": "b", "task": "act", "dependencies": ["a"]}]
        worker = world.model("main", case.script)

        def reply(request: Any) -> Any:
            if request.component == "planner":
                return call("make_plan", steps=steps)
            if request.component == "analyzer":
                return call("judge", achieved=True, confidence=1.0, final_answer="done", reasoning="")
            return worker._script(request)  # pyright: ignore[reportPrivateUsage, reportCallIssue]

        dag = DagAgent(
            ScriptedModel(reply), world.tools(), journal=world.journal, provenance=case.provenance, ask=case.ask,
            plugins=world.plugins(), max_rounds=1,
        )  # fmt: skip
        go_virtual(world.live(dag))
        return world

    counts = over(40, cases(swap=st.just(0)), planned)
    assert counts["asked and allowed"]


def test_documents():
    data = {
        "Agent:First": {
            "obj": {"component_name": "Agent", "params": {"preset": "default"}},
            "downstream": ["Agent:Second"],
        },
        "Agent:Second": {"obj": {"component_name": "Agent", "params": {"preset": "default"}}},
    }

    def documented(case: Case, counts: Counter[str]) -> World:
        world = World(case, counts)
        graph = GraphAgent(
            parse_document(data), Path(), model=world.model("main", case.script), journal=world.journal,
            provenance=case.provenance, ask=case.ask, plugins=world.plugins()[1:],
        )  # fmt: skip
        for agent, _ in graph._agents.values():  # pyright: ignore[reportPrivateUsage]
            agent.update_toolkit(world.tools())
        go_virtual(world.live(graph))
        return world

    counts = over(25, cases(swap=st.just(0)), documented)
    assert counts["asked and allowed"]
