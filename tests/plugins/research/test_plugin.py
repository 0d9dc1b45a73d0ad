"""The preset `research`: plan, search, notes with sources, an answer that is checked."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit import call, counted_turns, go
from treadle import Agent, ConfigError, DagAgent, KnowledgeBase, ScriptedModel, builtin, tool
from treadle._inspect.replay import replay
from treadle._journal.memory import MemoryJournal
from treadle.plugins import Plugin, Research, RunContext

PAGES = {
    "Anna Weber": "Anna Weber was an Austrian writer. She was born in Graz in 1931 and wrote four novels.",
    "Graz": "Graz is the second largest city of Austria. It has 291,134 inhabitants.",
    "Linz": "Linz lies on the Danube. It has 212,538 inhabitants.",
}
PLAN = json.dumps({"questions": ["Where was Anna Weber born?", "How many people live there?"]})
ANSWER = "Anna Weber was born in Graz in 1931 [ID:{a}]. Graz has 291,134 inhabitants [ID:{g}]."


@pytest.fixture
def base(tmp_path: Path) -> KnowledgeBase:
    base = KnowledgeBase(tmp_path / "pages.db")
    for name, text in PAGES.items():
        base.add(text, name=name)
    return base


def ids(request: Any) -> dict[str, int]:
    """The id of each page that was found."""
    said = " ".join(str(message.content) for message in request.messages if message.role == "tool")
    return {name: int(number) for number, name in re.findall(r'"id":(\d+),"document":"([^"]+)"', said)}


def agent(model: Any, base: KnowledgeBase, **options: Any) -> Agent:
    tools = [builtin("retrieval", path=base.path, about="pages of an encyclopedia")]
    return Agent(model, tools, preset="research", **options)


def researcher(*turns: Any) -> ScriptedModel:
    """A plan, two searches, and then these turns, each a function of the ids that were found."""
    searches = [call("retrieval", query="Anna Weber born"), call("retrieval", query="Graz inhabitants")]

    def reply(request: Any) -> Any:
        if request.component == "research":
            return PLAN
        number = sum(message.role == "assistant" for message in request.messages)
        turn = [*searches, *turns][number]
        return turn(ids(request)) if callable(turn) else turn

    return ScriptedModel(reply)


def write(text: str) -> Any:
    return lambda found: text.format(a=found["Anna Weber"], g=found["Graz"], l=found.get("Linz", 99))


def test_plan_search_note_write(base: KnowledgeBase):
    journal = MemoryJournal()
    model = researcher(
        lambda found: call("take_note", fact="Anna Weber was born in Graz in 1931.", source=found["Anna Weber"]),
        lambda found: call("take_note", fact="Graz has 291,134 inhabitants.", source=found["Graz"]),
        write(ANSWER),
    )
    result = agent(model, base, journal=journal).run_sync("How many people live where Anna Weber was born?")
    assert result.success
    assert [step.text for step in _state(journal, result.run_id).plan] == json.loads(PLAN)["questions"]
    report = result.metadata["reports"]["research"]
    assert (report["sentences"], report["cited"], report["notes"], report["removed"]) == (2, 2, 2, [])
    cited = {one["document"] for one in result.metadata["reports"]["citations"]["cited"]}
    assert cited == {"Anna Weber", "Graz"}
    assert replay(go(journal.load(result.run_id))).same


def _state(journal: MemoryJournal, run_id: str) -> Any:
    from treadle._types.state import fold

    return fold(go(journal.load(run_id)))


def test_a_note_that_its_source_does_not_say_is_refused(base: KnowledgeBase):
    model = researcher(
        lambda found: call("take_note", fact="Anna Weber was born in Linz in 1931.", source=found["Anna Weber"]),
        lambda found: call("take_note", fact="Graz has 291,134 inhabitants.", source=977),
        write(ANSWER),
    )
    result = agent(model, base).run_sync("q")
    wrong, unknown = (step for step in result.steps if step.tool == "take_note")
    assert "does not say so: Linz is in no record" in wrong.observation
    assert "there is no source 977; what was read has these ids:" in unknown.observation
    assert result.metadata["reports"]["research"]["notes"] == 0


def test_the_model_is_told_once_and_what_is_left_is_marked(base: KnowledgeBase):
    wrong = (
        "Anna Weber was born in Graz in 1931 [ID:{g}]. She won a prize in 1960 [ID:{a}]. It has 291,134 inhabitants."
    )
    better = "Anna Weber was born in Graz in 1931 [ID:{g}]. She won two prizes [ID:{a}]. Graz has 291,134 inhabitants."
    model = researcher(write(wrong), write(better))
    result = agent(model, base).run_sync("q")
    told = str(model.requests[-1].messages[-1].content)
    assert "rest on no source" in told
    assert "She won a prize in 1960." in told
    found = ids(model.requests[-1])
    assert result.answer == (
        f"Anna Weber was born in Graz in 1931 [ID:{found['Anna Weber']}]. She won two prizes [no source]. "
        f"Graz has 291,134 inhabitants [ID:{found['Graz']}]."
    )
    report = result.metadata["reports"]["research"]
    assert [one["text"] for one in report["unsupported"]] == ["She won two prizes."]

    dropped = agent(researcher(write(wrong)), base, plugins=[Research(revisions=0, unsupported="drop")]).run_sync("q")
    assert "prize" not in dropped.answer


class Turns(Plugin):
    """Counts anew the turns of the event loop: between two of these those of a plug-in."""

    name = "turns"

    def __init__(self, counted: list[int]) -> None:
        self.counted = counted

    async def on_answer(self, run: RunContext, answer: str) -> str:
        self.counted.append(0)
        return answer


@pytest.mark.parametrize("pages", [300, 0])
async def test_an_answer_is_checked_beside_the_event_loop(pages: int):
    @tool(untrusted=True, effect="pure")
    def fetch() -> str:
        """Fetch a page."""
        return "Graz lies on the Mur. " + "7 and 8, " * 30 * pages

    model = ScriptedModel([PLAN, call("fetch"), "Graz lies on the Mur."])
    async with counted_turns() as turns:
        plugins: list[Plugin] = [Turns(turns), Research(revisions=0), Turns(turns)]
        await Agent(model, [fetch], plugins=plugins).run("q")
    assert (turns[1] > 1_000) is bool(pages), turns


def test_what_other_tools_find_is_a_source_too(base: KnowledgeBase):
    @tool(untrusted="{url}", effect="pure")
    def fetch(url: str) -> str:
        """Fetch a page."""
        return "Graz lies on the Mur." + " filler" * 4_000

    def reply(request: Any) -> Any:
        if request.component == "research":
            return PLAN
        if request.messages[-1].role == "tool":
            return f"Graz lies on the Mur [ID:{ids(request)['example.org']}]."
        return call("fetch", url="https://example.org/graz")

    result = Agent(ScriptedModel(reply), [fetch], preset="research").run_sync("Where is Graz?")
    assert result.answer == "Graz lies on the Mur [ID:1]."
    assert result.sources == ("example.org",)
    assert len(result.steps[0].observation) <= 12_000 or result.steps[0].observation.startswith('{"chunks"')


def test_without_a_plan_or_a_source_it_still_answers(base: KnowledgeBase):
    model = ScriptedModel(lambda r: "no plan" if r.component == "research" else "I found nothing about Anna Weber.")
    result = agent(model, base).run_sync("q")
    assert result.success
    assert result.answer == "I found nothing about Anna Weber [no source]."


def test_a_typed_answer_stays_what_its_type_says(base: KnowledgeBase):
    model = ScriptedModel(lambda r: PLAN if r.component == "research" else '{"total": 3, "why": "It is so."}')
    result = agent(model, base, output_type={"type": "object", "required": ["total"]}).run_sync("q")
    assert json.loads(result.answer) == result.output == {"total": 3, "why": "It is so."}
    assert result.metadata["reports"]["research"]["unsupported"]
    bracketed = ScriptedModel(lambda r: PLAN if r.component == "research" else "[Note] I found nothing.")
    assert agent(bracketed, base).run_sync("q").answer == "[Note] I found nothing [no source]."


def test_the_answer_of_a_plan_cites_what_its_steps_have_read():
    """Each source has a number of its own, in the order in which the steps have read them."""
    facts = {"Anna": "Anna Weber was born in Graz in 1931.", "Graz": "Graz has 291,134 inhabitants."}
    read = asyncio.Event()

    @tool(effect="pure")
    async def look(what: str) -> str:
        """Look."""
        if what == "Graz":  # the steps run side by side: the other one reads first
            await read.wait()
            await asyncio.sleep(0.2)
        read.set()
        return facts[what]

    def reply(request: Any) -> Any:
        asked = request.tools[0].name if request.tools else request.component
        words = str(request.messages)
        if asked == "make_plan":
            return call("make_plan", steps=[{"id": "a", "task": "of Anna"}, {"id": "b", "task": "of Graz"}])
        if asked == "judge":
            said = f"{facts['Anna']} {facts['Graz'][:-1]} [ID:1]. She won a prize [ID:1]."
            return call("judge", achieved=True, confidence=1.0, final_answer=said)
        if request.component == "research":
            return PLAN
        what = "Anna" if "of Anna" in words else "Graz"
        return f"{facts[what][:-1]} [ID:1]." if request.messages[-1].role == "tool" else call("look", what=what)

    result = DagAgent(ScriptedModel(reply), [look], preset="research", max_rounds=1).run_sync("q")
    assert result.answer == (
        "Anna Weber was born in Graz in 1931 [ID:1]. Graz has 291,134 inhabitants [ID:2]. She won a prize [no source]."
    )
    documents = result.metadata["reports"]["research"]["documents"]
    assert documents == {"1": "look: Anna", "2": "look: Graz"}


def test_settings_are_checked():
    with pytest.raises(ConfigError, match='expected "mark", "drop" or "keep"'):
        Research(unsupported="hide")  # type: ignore[arg-type]


PROGRAM = """
import os, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from treadle import Agent, KnowledgeBase, ScriptedModel, builtin
from research.test_plugin import ANSWER, PLAN, call, ids, write
def reply(request):
    if request.component == "research":
        return PLAN
    number = sum(m.role == "assistant" for m in request.messages)
    if number == 2:
        return call("take_note", fact="Graz has 291,134 inhabitants.", source=ids(request)["Graz"])
    if number == 3:
        os.kill(os.getpid(), 9)
    return call("retrieval", query=["Anna Weber born", "Graz inhabitants"][number])
tools = [builtin("retrieval", path=Path(sys.argv[1]), about="pages")]
Agent(ScriptedModel(reply), tools, preset="research", journal=sys.argv[2]).run_sync("q", run_id="r")
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_plan_and_notes_survive_kill_9(base: KnowledgeBase, tmp_path: Path):
    path = tmp_path / "runs.db"
    tests = str(Path(__file__).resolve().parent.parent)
    program = PROGRAM.format(tests=tests)
    kit = str(Path(__file__).resolve().parent.parent.parent)
    killed = subprocess.run(
        [sys.executable, "-c", program, str(base.path), str(path)], env={**os.environ, "PYTHONPATH": kit}, timeout=120,
        check=False,
    )  # fmt: skip
    assert killed.returncode == -9
    model = researcher(None, write(ANSWER))
    with_path = agent(model, base, journal=path)

    async def main() -> Any:
        async with with_path:
            return await with_path.resume("r")

    result = go(main())
    assert [request.component for request in model.requests] == ["loop"]  # no second plan
    assert result.metadata["reports"]["research"]["notes"] == 1
    assert result.answer.count("[ID:") == 2
