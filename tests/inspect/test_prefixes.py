"""What each request has in common with the one before it."""

from __future__ import annotations

from kit import add, call, echo
from treadle import Agent, Plugin, RunContext, ScriptedModel
from treadle._inspect.prefixes import prefixes
from treadle._journal.memory import MemoryJournal
from treadle._types.events import ToolsChanged


async def test_a_request_begins_with_the_one_before_until_something_changes():
    class Fewer(Plugin):
        async def before_round(self, run: RunContext) -> None:
            if run.state.iteration == 2 and len(run.state.tools) == 2:
                await run.emit(ToolsChanged(run.state.tools[:1], "fewer are enough"))

    journal = MemoryJournal()
    model = ScriptedModel([call("add", a=1, b=2), call("add", a=2, b=3), call("add", a=3, b=4), "10"])
    result = await Agent(model, tools=[add, echo], plugins=[Fewer()], journal=journal).run("sum")
    first, second, third, fourth = prefixes(await journal.load(result.run_id))
    assert (first.kept_messages, first.kept_bytes, first.broke_at) == (0, 0, -1)
    assert (second.kept_messages, second.broke_at, second.why) == (first.messages, -1, "")
    assert 0 < second.kept_bytes < second.bytes
    assert (third.tools_changed, third.broke_at, third.kept_messages) == (True, 0, 0)
    assert third.why == "tools changed: fewer are enough"
    assert (fourth.kept_messages, fourth.broke_at) == (third.messages, -1)
