"""The reply policy: accept, ask again under a constraint, refuse; and runs without one."""

from __future__ import annotations

from typing import Any

import msgspec

from kit import add, go
from treadle import Agent, RunResult, ScriptedModel
from treadle._engine.reply_policy import AskAgain, Bounds, Refuse, Repetition, Verdict, policy_of
from treadle._types.events import MessageAdded, ReplyConstrained, ThinkDone, ThinkFailed
from treadle._types.profile import DecisionThresholds, Profile
from treadle._types.request import Reply

ADD = '{"thought": "", "action": "add", "args": {"a": 1, "b": 2}}'
FINAL = '{"thought": "", "action": "final_answer", "final_answer": "It is 3.", "task_successful": true}'
PROFILE = Profile(grammar=True, json_schema=True)


class FirstReply:
    """Gives one verdict about the first reply and accepts all others."""

    name = "first_reply"

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.seen: list[tuple[str, bool]] = []

    def bounds(self, run: Any) -> Bounds | None:
        return None

    async def review(self, run: Any, reply: Reply, decision: Any, names: Any) -> Verdict:
        self.seen.append((reply.text, bool(decision.calls)))
        return self.verdict if len(self.seen) == 1 else None

    def repetition(self, run: Any) -> Repetition:
        return Repetition()

    def guard(self, name: str) -> Any:
        return None


class ReviewedModel(ScriptedModel):
    reply_policy: Any = None


def run(verdict: Verdict, *replies: str) -> tuple[RunResult, list[Any], FirstReply]:
    async def main() -> tuple[RunResult, list[Any]]:
        running = Agent(model, [add], dialect="schema").start("What is 1 + 2?")
        seen: list[Any] = []
        running.subscribe(lambda record: seen.append(record.event))
        return await running, seen

    model, policy = ReviewedModel(list(replies), profile=PROFILE), FirstReply(verdict)
    model.reply_policy = policy
    return *go(main()), policy


def test_accepted_reply():
    result, events, policy = run(None, ADD, FINAL)
    assert (result.answer, len(result.steps)) == ("It is 3.", 1)
    assert policy.seen == [(ADD, True), (FINAL, False)]
    assert not [event for event in events if isinstance(event, ThinkFailed | ReplyConstrained)]


def test_asked_again_under_a_constraint():
    again = AskAgain("it has to add", must_act=True, note="Use the tool.")
    result, events, _ = run(again, FINAL, ADD, FINAL)
    assert [step.tool for step in result.steps] == ["add"]
    failed = next(event for event in events if isinstance(event, ThinkFailed))
    assert failed.error == "it has to add"
    assert next(event for event in events if isinstance(event, ReplyConstrained)) == ReplyConstrained(
        "first_reply", True, (), False
    )
    note = next(event for event in events if isinstance(event, MessageAdded) and event.component == "first_reply")
    assert note.message.content == "Use the tool."
    assert len([event for event in events if isinstance(event, ThinkDone)]) == 2


def test_refused_reply():
    result, events, _ = run(Refuse("the sum was not calculated"), FINAL, ADD, FINAL)
    assert [step.tool for step in result.steps] == ["add"]
    assert result.answer == "It is 3."
    first = next(event for event in events if isinstance(event, ThinkDone))
    assert (first.problem, first.answer) == ("the sum was not calculated", None)


def test_models_with_a_policy():
    decides = DecisionThresholds(0.5, 0.5)
    for profile in (Profile(parameters=1.5), Profile(tiny=True), Profile(decide=decides)):
        policy = policy_of(ScriptedModel(["a"], profile=profile))
        assert policy is not None
        assert policy.name == "decision"
    for profile in (Profile(), Profile(tool_call=True, parameters=70.0), msgspec.structs.replace(PROFILE)):
        assert policy_of(ScriptedModel(["a"], profile=profile)) is None
