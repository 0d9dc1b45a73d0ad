"""Questions about a run that several guards for small models ask."""

from __future__ import annotations

from typing import Any

import pytest

from kit import echo, go
from plugins.probe import Probe
from plugins.scenes import answer_in
from treadle import Agent, ScriptedModel
from treadle._local.guards.run_queries import small_under_grammar


@pytest.mark.parametrize(
    ("abilities", "dialect", "expected"),
    [
        ({"tool_call": False, "grammar": True, "parameters": 1.5}, "direct", True),
        ({"tool_call": False, "grammar": True, "tiny": True}, "brief", True),
        ({"tool_call": False, "grammar": True, "parameters": 4.0}, "direct", False),
        ({"tool_call": False, "grammar": True}, "direct", False),
        ({"tool_call": False, "json_schema": True, "parameters": 1.5}, "schema", False),
        ({"grammar": True, "parameters": 1.5}, "native", False),
    ],
    ids=["small", "tiny", "large", "unknown size", "no grammar", "native calls"],
)
def test_small_under_grammar(abilities: dict[str, Any], dialect: str, expected: bool):
    seen: list[bool] = []

    async def look(run: Any) -> None:
        seen.append(small_under_grammar(run))

    model = ScriptedModel([answer_in(dialect, "done")], abilities=abilities)
    probe = Probe(look)
    result = go(Agent(model, [echo], plugins=[probe]).run("q"))
    probe.check()
    assert (result.metadata["dialect"], seen) == (dialect, [expected])
