"""What a server asks during a call is answered by the run: its model and budget, whoever approves its calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit import call, go
from tools.mcp.test_resources import server
from treadle import Agent, Approval, Budget, BudgetExhaustedError, McpTools, ScriptedModel

pytest.importorskip("mcp")


def observed(tool: str, replies: list[Any], plugins: list[Any] = [], **options: Any) -> tuple[Any, Any]:  # noqa: B006
    async def main() -> tuple[Any, Any]:
        plugin = McpTools(server(), **options)
        agent = Agent(ScriptedModel([call(tool), *replies]), None, plugins=[plugin, *plugins])
        result = await agent.run("q")
        await plugin.aclose()
        return result, agent.model

    result, model = go(main())
    return (json.loads(result.steps[0].observation) if result.steps else None), (result, model)


def test_the_run_s_model_answers_on_record_and_on_its_bill():
    said, (result, model) = observed("ask_model", ["lamp", "done"], sampling=True)
    assert said["content"]["text"] == "lamp"
    assert result.answer == "done"
    assert result.metadata["components"]["mcp_sampling"]["calls"] == 1
    assert model.requests[1].max_tokens == 50
    assert [m.role for m in model.requests[1].messages] == ["user"], "the server sees nothing of the conversation"


def test_a_budget_that_is_used_up_is_not_exceeded_for_a_server():
    model = ScriptedModel([call("ask_model"), "lamp", "done"])
    plugin = McpTools(server(), sampling=True)

    async def main() -> None:
        try:
            await Agent(model, None, plugins=[plugin], budget=Budget(requests=1)).run("q")
        finally:
            await plugin.aclose()

    with pytest.raises(BudgetExhaustedError):
        go(main())
    assert len(model.requests) == 1


def test_without_the_setting_both_are_refused():
    assert "error" in observed("ask_model", ["done"])[0]
    assert "error" in observed("ask_user", ["done"])[0]


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (True, {"action": "accept", "content": {"size": "small", "count": 2}}),
        (
            {"allow": True, "args": {"size": "big", "count": 5}},
            {"action": "accept", "content": {"size": "big", "count": 5}},
        ),
        ({"allow": True, "args": {"count": "many"}}, {"action": "decline"}),
        (False, {"action": "decline"}),
    ],
)
def test_whoever_approves_is_asked_with_the_defaults(decision: Any, expected: dict[str, Any]):
    seen: list[Any] = []

    async def decide(asked: Any) -> Any:
        seen.append((asked.name, asked.args))
        return decision

    said, _ = observed("ask_user", ["done"], [Approval(decide)], elicitation=True)
    assert seen == [("shop_asks", {"size": "small", "count": 2})]
    assert {name: said[name] for name in expected} == expected


def test_nobody_to_ask_declines():
    said, (result, _) = observed("ask_user", ["done"], [Approval()], elicitation=True)
    assert said["action"] == "decline"
    assert result.answer == "done"
