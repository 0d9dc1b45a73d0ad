"""Journeys in Python, as a user writes it."""

from __future__ import annotations

import asyncio
import base64
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.terminal import TOOLS, environment, open_gate, treadle
from treadle import (
    Agent,
    ConfigError,
    Conversation,
    DagAgent,
    RunError,
    RunInfo,
    ToolError,
    TreadleError,
    WrongValueError,
    blame,
    compare,
    find_causes,
    fork,
    load_agent,
    open_journal,
    plan_diagram,
)
from treadle.events import ThinkStarted, ToolOutput
from treadle.messages import attach
from treadle.plugins import Memory, MemoryStore
from treadle.testing import ScriptedModel, assert_export_replays
from waiting import eventually

from .conftest import (
    DOT,
    GO_ON,
    LET_GO,
    MOODS,
    befriend,
    build,
    clerk,
    desk_document,
    height,
    mend,
    plan,
    play,
    secretary,
)
from .walking import journey, step


@journey("A first question", on="Python")
def test_first_question():
    with step("an agent with tools is asked: the answer, and what it used"):
        result = clerk().run_sync("How high is the tower?")
        assert (result.answer, result.tools_used) == ("It is **330 m** high.", ["height"])


@journey("An agent without tools", on="Python")
def test_without_tools():
    with step("Agent(model) and nothing else answers"):
        assert Agent(ScriptedModel(["Hello."])).run_sync("Hi").answer == "Hello."


@journey("A conversation in which a later question needs an earlier one", on="Python")
def test_conversation():
    with step("two questions of one conversation: the second knows the first"):
        talk = Conversation(clerk(), "ann-1")
        talk.ask_sync("I am Ann.")
        assert talk.ask_sync("What is my name?").answer == "You are Ann."


@journey("A model by its address, asked three times", on="Python")
def test_model_by_address(model_server: str):
    with step("Agent(address) is asked three times"):
        agent = Agent(model_server)
        assert [agent.run_sync("Hi").answer for _ in range(3)] == ["Hello."] * 3


@journey("A call is approved, changed, refused", on="Python")
def test_approvals():
    with step("the run is paused with the call; it is refused, and goes on"):
        agent = clerk()
        paused = agent.run_sync("Write a mail")
        [call] = paused.pending
        ended = agent.resume_sync(paused.run_id, approve={call.call_id: {"allow": False}})
        assert ended.answer == "Not sent."


@journey("A wrong setting", on="Python")
def test_wrong_setting():
    with step("the error names the setting and what would do"):
        with pytest.raises(WrongValueError) as wrong:
            Agent(ScriptedModel([]), max_iterations="many")  # pyright: ignore[reportArgumentType]
        assert "max_iterations" in str(wrong.value)
        assert "int" in str(wrong.value)


@journey("Something mistyped", on="Python")
def test_mistyped():
    wrong: dict[str, Any] = {
        "a name": {"toolz": [height]}, "a tool": {"tools": ["calcualtor"]}, "a preset": {"preset": "two_fase"}
    }  # fmt: skip
    meant = {"a name": "tools", "a tool": "calculator", "a preset": "two_phase"}
    for what, given in wrong.items():
        with step(f"{what} is mistyped: the one that was meant is named"):
            with pytest.raises(ConfigError) as said:
                Agent(ScriptedModel([]), **given)
            assert f"did you mean '{meant[what]}'?" in str(said.value)


@journey("All that a task leaves open is one question", on="Python")
def test_open_points():
    with step("the run is paused once, with both calls; one is allowed, the other refused"):
        agent = secretary()
        paused = agent.run_sync("Do what the list says")
        assert [one.args["to"] for one in paused.pending] == ["Ann", "Bob"]
        ann, bob = (one.call_id for one in paused.pending)
        ended = agent.resume_sync(paused.run_id, approve={ann: True, bob: False})
        assert (ended.stop_reason, ended.answer.partition("\n")[0]) == ("answer", "Written to: Ann.")


@journey("A tool that fails", on="Python")
def test_failing_tool():
    talk = Conversation(clerk())
    with step("the answer comes all the same; the step has the error, and the exception itself"):
        failed = talk.ask_sync("How high is Atlantis?")
        [tried] = failed.steps
        assert (failed.success, tried.error, type(tried.exception)) == (True, "exception", ToolError)
        assert "nothing is known about Atlantis Tower" in failed.trace()
    with step("the next question of the conversation uses the same tool, which works"):
        assert talk.ask_sync("How high is the tower?").answer == "It is **330 m** high."


@journey("The provider fails, is cut off, is slow, and is back", on="Python")
def test_moody_provider(model_server: str, tmp_path: Path):
    async def walk() -> None:
        journal = open_journal(tmp_path / "runs.db")
        agent = Agent(model_server, journal=journal)
        with step("it is busy once and cut off once: the answer streams all the same, once"):
            MOODS[:] = ["busy", "cut"]
            assert [piece async for piece in agent.stream_text("Hi")] == ["Hello."]
        with step("it is busy too long: an error says so, and has the run"):
            MOODS[:] = ["busy"] * 3
            with pytest.raises(RunError, match="too busy") as failed:
                await agent.run("Hi")
        with step("it is back: a fork of the run goes on"):
            again = await fork(journal, failed.value.result.run_id)
            assert (await agent.resume(again)).answer == "Hello."
        with step("it is slow: the run is stopped, and goes on later"):
            GO_ON.clear()
            MOODS[:] = ["slow"]
            run = agent.start("Hi")
            while MOODS:  # noqa: ASYNC110 - the provider is a thread
                await asyncio.sleep(0.01)
            run.cancel()
            assert (await run).stop_reason == "cancelled"
            GO_ON.set()
            assert (await agent.resume(await fork(journal, run.id))).answer == "Hello."
        await journal.aclose()

    asyncio.run(walk())


@journey("The provider is not there", on="Python")
def test_dead_provider():
    with (
        step("an error says where nothing was found, and what to look at"),
        pytest.raises(RunError, match=r"127\.0\.0\.1:9/v1: is the server running"),
    ):
        Agent("http://127.0.0.1:9/v1").run_sync("Hi")


@journey("A long tool with output while it runs; stop, and go on", on="Python")
def test_long_tool(tmp_path: Path):
    async def walk() -> None:
        LET_GO.clear()
        journal = open_journal(tmp_path / "runs.db")
        agent = Agent(ScriptedModel(play), tools=[build], journal=journal)
        talk = Conversation(agent, "ann")
        with step("she sees what the tool says while it runs, and stops it"):
            said = asyncio.get_running_loop().create_future()
            run = await talk.start("Please build it")
            run.subscribe(lambda record: said.set_result(record.event) if type(record.event) is ToolOutput else None)
            assert (await said).text == "compiling 214 modules\n"
            run.cancel()
            assert (await run).stop_reason == "cancelled"
        with step("a fork of the run goes on, and ends"):
            LET_GO.set()
            assert (await agent.resume(await fork(journal, run.id))).answer == "Built."
        with step("the next question of the conversation comes after it"):
            assert (await talk.ask("Good morning.")).answer == "Answer 2."
        await journal.aclose()

    asyncio.run(walk())


@journey("A document", on="Python")
def test_document(tmp_path: Path):
    with step("load_agent makes it an agent, which is asked twice in a conversation"):
        talk = Conversation(load_agent(desk_document(tmp_path), model=ScriptedModel(["Good day.", "Bye."])))
        assert [talk.ask_sync(words).answer for words in ("Hi", "And?")] == ["It says: Good day.", "It says: Bye."]
    with step("a document that is wrong is refused, with the place and with what would do"):
        document = tmp_path / "desk.json"
        document.write_text(document.read_text().replace('"Message:End"]', '"Message:Endd"]'))
        with pytest.raises(ConfigError, match=r"Agent:Say.*Message:Endd.*did you mean 'Message:End'"):
            load_agent(document)


@journey("A text file goes with a question", on="Python")
def test_attachment(tmp_path: Path):
    (tmp_path / "cities.csv").write_text("city,people\nBern,134591\n")
    with step("a path goes with the question: the model sees what is in the file"):
        result = clerk().run_sync(["How long is this file?", attach(tmp_path / "cities.csv")])
        assert result.answer == "Two lines."


@journey("A picture goes with a question", on="Python")
def test_picture():
    dot = attach(base64.b64decode(DOT), name="dot.png")
    with step("a model that reads pictures is given it"):
        agent = Agent(ScriptedModel(play, abilities={"vision": True}))
        assert agent.run_sync(["What is in this picture?", dot]).answer == "A dot."
    with (
        step("for one that does not it is refused, before anything is sent"),
        pytest.raises(ConfigError, match=r"dot\.png: .* does not read images"),
    ):
        Agent(ScriptedModel(play, abilities={"vision": False})).run_sync(["What is in this picture?", dot])


@journey("Search and find again", on="Python")
def test_search(tmp_path: Path):
    with (
        step("a word of what a tool found leads to the run, and the run is there with its answer"),
        Agent(ScriptedModel(play), tools=[height], journal=str(tmp_path / "runs.db")) as agent,
    ):
        asked = [agent.run_sync(question) for question in ("How high is the tower?", "Good morning.")]
        [found] = asyncio.run(_said(tmp_path / "runs.db", "330 m"))
        assert (found.run_id, found.question) == (asked[0].run_id, "How high is the tower?")
        assert agent.resume_sync(found.run_id).answer == asked[0].answer


async def _said(path: Path, words: str) -> list[RunInfo]:
    journal = open_journal(path)
    try:
        return await journal.list(said=words)
    finally:
        await journal.aclose()


@journey("A model by its name, from the environment, and another one in the middle", on="Python")
def test_model_by_name(model_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", model_server)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    journal = open_journal(tmp_path / "runs.db")
    with step("one agent has a model by its name, one an object; both work on one conversation"):
        named, other = Agent("openai:fake-1", journal=journal), Agent(ScriptedModel(play), journal=journal)
        assert Conversation(named, "ann").ask_sync("I am Ann.").answer == "Hello."
        assert Conversation(other, "ann").ask_sync("What is my name?").answer == "You are Ann."
        assert Conversation(named, "ann").ask_sync("Hi").answer == "Hello."
    with (
        step("a name that is mistyped is refused, with the one that was meant"),
        pytest.raises(TreadleError, match="openai"),
    ):
        Agent("opnai:fake-1").run_sync("Hi")
    journal.close()


@journey("Two people at once", on="Python")
def test_two_at_once(tmp_path: Path):
    async def walk() -> None:
        LET_GO.clear()
        journal = open_journal(tmp_path / "runs.db")
        agent = Agent(ScriptedModel(play), tools=[build], journal=journal)
        ann, bob = Conversation(agent, "a", user="ann"), Conversation(agent, "b", user="bob")
        with step("while a tool works for Ann, Bob asks and is answered"):
            first = await ann.start("Please build it. I am Ann.")
            assert (await bob.ask("What is my name? I am Bob.")).answer == "You are Bob."
            LET_GO.set()
            assert (await first).answer == "Built."
        with step("each conversation knows its own, and the journal whose runs they are"):
            assert [(await one.ask("What is my name?")).answer for one in (ann, bob)] == [
                "You are Ann.",
                "You are Bob.",
            ]
            assert {run.conversation for run in await journal.list(user="ann")} == {"a"}
        await journal.aclose()

    asyncio.run(walk())


@journey("Another answer to the same question, beside the first", on="Python")
def test_again(tmp_path: Path):
    async def walk() -> None:
        journal = open_journal(tmp_path / "runs.db")
        agent = Agent(ScriptedModel(["One.", "Another."]), journal=journal)
        with step("a fork of the run is answered anew; both are kept"):
            first = await agent.run("Say something")
            second = await agent.resume(await fork(journal, first.run_id, 1))
            ids = (first.run_id, second.run_id)
            assert {info.run_id for info in await journal.list()} == set(ids)
        with step("compare says where they part"):
            facts = {fact.name: (fact.first, fact.second) for fact in (await compare(journal, *ids)).facts}
            assert facts["answer"] == ("One.", "Another.")
        await journal.aclose()

    asyncio.run(walk())


@journey("A coding session", on="Python")
def test_coding(tmp_path: Path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "area.py").write_text("def area(w, h):\n    return w + h\n")
    with (
        step("the agent mends a copy, and a second question goes on with it; her folder is as it was"),
        Agent(ScriptedModel(mend), preset="coding", workspace=project, journal=str(tmp_path / "runs.db")) as agent,
    ):
        talk = Conversation(agent)
        assert "[changed: area.py (+1 -1)]" in talk.ask_sync("Mend the area").answer
        talk.ask_sync("Turn it round")
        assert "w + h" in (project / "area.py").read_text()
    runs = ("--yes", "--journal", str(tmp_path / "runs.db"))
    with step("treadle runs apply brings both into her folder"):
        applied = treadle(project, "runs", "apply", "last", *runs)
        assert applied.code == 0, applied.err
        assert "h * w" in (project / "area.py").read_text()
    with step("she changes her mind: treadle runs restore makes the folder what it was when the agent came to it"):
        first = treadle(project, "runs", "list", "--ids", *runs[1:]).out.split()[-1]
        restored = treadle(project, "runs", "restore", first, "0", "--to", ".", *runs)
        assert restored.code == 0, restored.err
        assert "w + h" in (project / "area.py").read_text()


@journey("Ask again in other words, and compare the branches", on="Python")
def test_branches(tmp_path: Path):
    async def walk() -> None:
        journal = open_journal(tmp_path / "runs.db")
        agent = Agent(ScriptedModel(play), tools=None, journal=journal)
        talk = Conversation(agent)
        await talk.ask("I am Ann.")
        with step("what was said until then begins another conversation: it is answered in its own words"):
            other = Conversation(agent, history=await talk.history())
            asked = [await talk.ask("Who is it?"), await other.ask("What is my name?")]
            assert [one.answer for one in asked] == ["Answer 2.", "You are Ann."]
        with step("compare shows where the two part; the first knows nothing of the second"):
            compared = await compare(journal, asked[0].run_id, asked[1].run_id)
            facts = {one.name: (one.first, one.second) for one in compared.facts}
            assert facts["question"] == ("Who is it?", "What is my name?")
            assert (await talk.ask("Go on.")).answer == "Answer 3."
        await journal.aclose()

    asyncio.run(walk())


@journey("A plan", on="Python")
def test_plan():
    async def walk() -> None:
        run = DagAgent(ScriptedModel(plan), tools=[height]).start("How high is it in feet?")
        with step("the steps are planned, done one after the other, and the answer is found"):
            assert (await run).answer == "1,083 feet."
        with step("the plan can be drawn"):
            assert "Say it in feet" in plan_diagram(run.records)

    asyncio.run(walk())


@journey("Why an answer is wrong", on="Python")
def test_why(model_server: str, tmp_path: Path):
    async def walk() -> None:
        journal = open_journal(tmp_path / "runs.db")
        agent = Agent(model_server, tools=None, system="Be polite.\nAlways round up.", journal=journal)
        run = (await agent.run("What is 2 + 3?")).run_id
        with step("blame says where each piece of the request came from"):
            records = await journal.load(run)
            asked = next(record.seq for record in records if type(record.event) is ThinkStarted)
            assert "Always round up." in {one.component: one.text for one in blame(records, asked)}["system"]
        with (
            step("without anything expected the search is refused, and says what to give"),
            pytest.raises(ConfigError, match="what its answer should have had"),
        ):
            await find_causes(agent, run)
        with step("with it, the line that caused the answer is found"):
            [cause, *_] = (await find_causes(agent, run, answer="Hello")).causes
            assert "Always round up." in str(cause.change)
        await journal.aclose()

    asyncio.run(walk())


@journey("Memory, seen and erased", on="Python")
def test_memory(tmp_path: Path):
    store = MemoryStore(tmp_path / "memory.db")
    agent = Agent(ScriptedModel(befriend), tools=[height], plugins=[Memory(store, rank="text")])
    with step("what a tool found out for Ann is kept, and helps her later, and nobody else"):
        agent.run_sync("How high is the tower that I like?", user="ann")
        assert [memo.summary for memo in store.all("ann")] == ["Ann likes tall buildings."]
        asked = [agent.run_sync("Which tall buildings do I like?", user=user).answer for user in ("ann", "bob")]
        assert asked == ["You like tall buildings.", "330 m."]
    with step("it is forgotten: the next question begins from nothing"):
        assert store.forget("ann") == 1
        assert agent.run_sync("Which tall buildings do I like?", user="ann").answer == "330 m."


@journey("Export and import", on="Python")
def test_export(tmp_path: Path):
    with (
        step("a run of hers is exported; it replays byte for byte without a journal"),
        Agent(ScriptedModel(play), tools=[height], journal=str(tmp_path / "runs.db")) as agent,
    ):
        first = agent.run_sync("How high is the tower?")
    exported = tmp_path / "run.jsonl"
    treadle(tmp_path, "runs", "export", "last", "-o", str(exported), "--journal", "runs.db")
    assert_export_replays(exported)
    with (
        step("imported elsewhere it goes on, answered as it was"),
        Agent(ScriptedModel(play), tools=[height], journal=str(tmp_path / "other.db")) as agent,
    ):
        treadle(tmp_path, "runs", "import", "run.jsonl", "--journal", "other.db")
        assert agent.resume_sync(first.run_id).answer == first.answer
    with step("one that was cut off on the way is refused, with the line"):
        exported.write_bytes(exported.read_bytes()[:-100])
        assert "cannot be read" in treadle(tmp_path, "runs", "import", "run.jsonl", "--journal", "third.db").err


OPENER = """
import sys
from mine import gate
from treadle import Agent
from treadle.testing import ScriptedModel

first = sys.argv[1] == "first"
model = ScriptedModel([{"name": "gate", "args": {"name": "north"}}] if first else ["It is open."])
with Agent(model, tools=[gate], journal="runs.db") as agent:
    result = agent.run_sync("Open the gate", run_id="north") if first else agent.resume_sync("north")
print(result.answer, len(result.steps))
"""


@journey("The program is killed and comes back", on="Python")
def test_killed(tmp_path: Path):
    (tmp_path / "mine.py").write_text(TOOLS)
    (tmp_path / "app.py").write_text(OPENER)
    command = [sys.executable, "app.py"]
    environ = environment(tmp_path)
    with step("a tool works, and the program is killed with kill -9"):
        shown = ("runs", "show", "north", "--json", "--journal", "runs.db")
        with subprocess.Popen([*command, "first"], cwd=tmp_path, env=environ) as first:
            eventually(lambda: "tool_started" in treadle(tmp_path, *shown).out, "the tool works")
            first.kill()
    open_gate(tmp_path, "north")
    with step("another process resumes the run by its id: the tool runs to its end, and the answer is there"):
        again = subprocess.run([*command, "again"], cwd=tmp_path, env=environ, capture_output=True, text=True)
        assert again.stdout == "It is open. 1\n", again.stderr
    with step("resumed a third time it does nothing: the answer is the recorded one"):
        third = subprocess.run([*command, "again"], cwd=tmp_path, env=environ, capture_output=True, text=True)
        assert third.stdout == "It is open. 1\n", third.stderr
