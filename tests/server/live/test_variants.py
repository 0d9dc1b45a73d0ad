"""Another model or preset for a conversation, from what the operator offers."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, call
from server.serving import relaxed, serving
from treadle import Agent, ScriptedModel, tool
from treadle._server.errors import ApiError
from treadle._server.live.branches import RunFacts
from treadle._server.live.variants import Variants
from treadle._server.settings import ServerSettings
from treadle._types.errors import ConfigError, TreadleError

PRESETS = ServerSettings(presets=("planned", "two_phase"))


def agent(*others: ScriptedModel, **options: Any) -> Agent:
    return Agent(ScriptedModel(lambda r: "From my own."), tools=[add], fallbacks=others, **options)


def test_what_is_offered_can_be_chosen_and_nothing_else():
    other = ScriptedModel(lambda r: "From the other one.", name="other")
    with serving({"guide": agent(other)}, settings=relaxed(presets=PRESETS.presets)) as client:
        (listed,) = client.get("/api/agents")["agents"]
        assert listed["models"] == ["scripted", "other"]
        assert (listed["preset"], listed["presets"]) == ("default", ["default", "planned", "two_phase"])

        def ask(**choice: str) -> dict[str, Any]:
            run = client.post("/api/runs", {"question": "Who?", **choice}, 201)["run_id"]
            client.wait(run)
            return client.get(f"/api/runs/{run}")

        assert ask()["answer"] == "From my own."
        chosen = ask(model="other", preset="two_phase")
        assert (chosen["answer"], chosen["agent"], chosen["model"]) == ("From the other one.", "guide", "other")
        started = client.get(f"/api/runs/{chosen['run_id']}/records")["records"][0]["event"]
        assert started["preset"] == "two_phase"
        for wrong in ({"model": "openai:gpt-5"}, {"preset": "code"}):
            refused = client.ask("POST", "/api/runs", {"question": "Who?", **wrong})
            assert (refused.status, "is not offered" in refused.error) == (400, True)


def test_a_model_that_is_named_anew_at_first_contact_is_still_the_one_that_was_listed():
    """As one given by its address: a page that was loaded before asks with the name it has read, more than once."""

    def meet(request: Any) -> str:
        model.name = "fake-1"
        return "Hello."

    model = ScriptedModel(meet, name="http://127.0.0.1:8801/v1")
    with serving({"guide": Agent(model, tools=[add])}) as client:
        for _ in range(3):
            run = client.post("/api/runs", {"question": "Who?", "model": "http://127.0.0.1:8801/v1"}, 201)["run_id"]
            client.wait(run)
        assert client.get(f"/api/runs/{run}")["model"] == "fake-1"


def test_a_model_is_made_when_it_is_first_chosen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    variants = Variants(ServerSettings(models=("openai:gpt-5",)))
    served = agent()
    chosen = variants.chosen(served, "openai:gpt-5", "")
    assert chosen.models == (chosen.model, served.model), "its own takes over if the chosen one fails for good"
    assert variants.chosen(served, "openai:gpt-5", "") is chosen
    facts = RunFacts("", "guide", "", "", model=chosen.model.name)
    assert Variants(ServerSettings(models=("openai:gpt-5",))).of_run(served, facts).model.name == chosen.model.name
    with pytest.raises(TreadleError, match="nonsense"):
        Variants(ServerSettings(models=("nonsense:x",)))


def test_nothing_is_offered_unless_the_operator_says_so():
    with serving({"guide": agent()}) as client:
        (listed,) = client.get("/api/agents")["agents"]
        assert (listed["models"], listed["presets"]) == (["scripted"], ["default"])


def test_what_the_operator_has_set_holds_in_every_variant():
    """Also what was set after the agent was made: what it must ask about."""
    served = agent(max_iterations=3)
    served.settings = served.settings.with_changes({"ask": ("add",)})
    chosen = Variants(PRESETS).chosen(served, "", "planned")
    assert (chosen.preset.name, chosen.settings.dialect) == ("planned", "schema")
    assert (chosen.settings.max_iterations, chosen.settings.ask) == (3, ("add",))
    assert (served.preset.name, served.settings.dialect) == ("default", "auto")


def test_a_run_is_resumed_as_it_began():
    @tool(approval="ask")
    def send(to: str) -> str:
        """Send it."""
        return "sent"

    other = ScriptedModel([call("send", to="ann"), "Sent by the other one."], name="other")
    served = Agent(ScriptedModel([]), tools=[send], fallbacks=[other])
    with serving({"guide": served}, settings=relaxed(presets=PRESETS.presets)) as client:
        run = client.post("/api/runs", {"question": "Send it.", "model": "other", "preset": "two_phase"}, 201)["run_id"]
        (waiting,) = client.wait(run, "paused")["waiting"]
        client.post(f"/api/runs/{run}/approvals", {"call_id": waiting["call_id"], "allow": True})
        assert client.wait(run)["answer"] == "Sent by the other one."
        kinds = [record["type"] for record in client.get(f"/api/runs/{run}/records")["records"]]
        assert "model_switched" not in kinds


def test_what_is_not_offered_any_more_is_not_used():
    facts = RunFacts("", "guide", "", "", model="other", preset="code")
    served = agent()
    assert Variants(ServerSettings()).of_run(served, facts) is served


def test_a_preset_that_the_model_cannot_serve_is_refused():
    served = Agent(ScriptedModel([call("add", a=1, b=2)], abilities={"tool_call": False}), tools=[add])
    with pytest.raises(ApiError, match="needs native tool calls"):
        Variants(ServerSettings(presets=("strict",))).chosen(served, "", "strict")
    with pytest.raises(ConfigError, match="unknown preset"):
        Variants(ServerSettings(presets=("nonsense",)))
