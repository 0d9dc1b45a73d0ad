"""The plug-in seam: what each hook is given, what its answer does, and when it is called."""

from __future__ import annotations

from typing import Any

from kit import add, call, go
from treadle import Agent, Plugin, ScriptedModel
from treadle._engine.core.hooks import HOOKS
from treadle._tools.base import ToolOutcome
from treadle._types import events as ev
from treadle._types.errors import ContextOverflowError
from treadle._types.messages import ToolCall, UserMessage


class Diary(Plugin):
    """Writes down every hook that is called."""

    name = "diary"

    def __init__(self) -> None:
        self.entries: list[str] = []


def _writing(hook: str) -> Any:
    plain = getattr(Plugin, hook)

    async def write(self: Diary, run: Any, *args: Any) -> Any:
        self.entries.append(hook)
        return await plain(self, run, *args)

    return write


for _hook in HOOKS:
    setattr(Diary, _hook, _writing(_hook))


def test_hooks_are_called_where_their_names_say():
    diary = Diary()
    result = go(Agent(ScriptedModel([call("add", a=1, b=2), "3"]), [add], plugins=[diary]).run("q"))
    assert result.answer == "3"
    assert diary.entries == [
        "on_start", "before_round", "beside_first_request", "after_decision", "before_tool", "after_tool",
        "after_round", "before_round", "after_decision", "before_finish", "on_answer", "on_end",
    ]  # fmt: skip


async def test_a_person_is_asked_and_a_resumed_run_says_so():
    diary = Diary()
    agent = Agent(ScriptedModel([call("add", a=1, b=2), "3"]), [add.replace(approval="ask")], plugins=[diary])
    run = agent.start("q")
    await run
    assert diary.entries[-2:] == ["before_tool", "on_approval"]
    diary.entries.clear()
    waiting = run.state.paused
    assert waiting is not None
    await agent.resume(run, approve={waiting.calls[0].id: True})
    assert diary.entries[:3] == ["on_resume", "before_tool", "after_tool"]


def test_an_overflow_is_a_matter_for_plug_ins():
    diary = Diary()
    model = ScriptedModel([ContextOverflowError("too long", status=400)])
    go(Agent(model, [add], plugins=[diary], on_error="result").run("q"))
    assert "on_overflow" in diary.entries


async def test_what_the_hooks_of_the_base_class_answer_changes_nothing():
    plugin, nothing = Plugin(), None
    one, outcome = ToolCall("c", "f"), ToolOutcome("x")
    assert await plugin.before_tool(nothing, one) is one  # type: ignore[arg-type]
    assert await plugin.after_tool(nothing, one, outcome) is outcome  # type: ignore[arg-type]
    assert await plugin.before_finish(nothing, "a") == "a"  # type: ignore[arg-type]
    assert await plugin.on_answer(nothing, "a") == "a"  # type: ignore[arg-type]
    assert await plugin.on_approval(nothing, one) is None  # type: ignore[arg-type]
    assert await plugin.on_overflow(nothing, ContextOverflowError("x")) is False  # type: ignore[arg-type]


async def test_an_object_with_a_hook_is_a_plug_in():
    class Doubts:
        name = "doubts"
        asked = False

        async def before_finish(self, run: Any, answer: str) -> str | UserMessage:
            if self.asked:
                return answer
            self.asked = True
            return UserMessage("are you sure?", kind="note")

    run = Agent(ScriptedModel(["4", "3"]), [add], plugins=[Doubts()]).start("q")
    assert (await run).answer == "3"
    added = [record.event.component for record in run.records if isinstance(record.event, ev.MessageAdded)]
    assert added == ["doubts"]
