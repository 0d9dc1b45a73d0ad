"""Journeys over HTTP, as a program with nothing but HTTP walks them."""

from __future__ import annotations

import base64
import sys
import urllib.request
from pathlib import Path
from typing import Any

from cli.terminal import TOOLS, call, open_gate, script, start, treadle
from waiting import eventually

from .conftest import DOT, GO_ON, LET_GO, MOODS, RECORDED, Http, free_port
from .walking import journey, step


@journey("A first question", on="HTTP")
def test_first_question(http_api: Http):
    with step("POST /api/runs with a question: it is taken, with the id of the run"):
        run = http_api.start("How high is the tower?")
    with step("GET the run until it has ended: the answer is there, and one tool was called"):
        found = http_api.wait(run)
        assert (found["answer"], found["usage"]["tool_calls"]) == ("It is **330 m** high.", 1)


@journey("A conversation in which a later question needs an earlier one", on="HTTP")
def test_conversation(http_api: Http):
    with step("a name is said in the second of five questions"):
        last = http_api.start("Good morning.")
        conversation = http_api.wait(last)["conversation"] or last
        for question in ("I am Ann.", "What is new?", "Go on."):
            last = http_api.start(question, conversation=conversation, follows=last)
            http_api.wait(last)
    with step("the fifth asks for it, and it is known"):
        assert http_api.answer("What is my name?", conversation=conversation, follows=last) == "You are Ann."


@journey("A model by its address, asked three times", on="HTTP")
def test_model_by_address(http_api: Http):
    with step("the list of agents names the model"):
        agents = {one["name"]: one for one in http_api.get("/api/agents")["agents"]}
        name = agents["by_address"]["model"]
    with step("three questions with that name, and each is answered"):
        assert [http_api.answer("Hi", agent="by_address", model=name) for _ in range(3)] == ["Hello."] * 3


@journey("A call is approved, changed, refused", on="HTTP")
def test_approvals(http_api: Http):
    given = {
        "allowed": ({"allow": True}, "Sent."),
        "changed": ({"allow": True, "args": {"to": "bob@example.com", "text": "Hi"}}, "Sent."),
        "refused": ({"allow": False, "note": "not today"}, "Not sent."),
    }
    found: Any = None
    for words, (decision, answer) in given.items():
        with step(f"the run waits, the call is {words}, the run goes on"):
            run = http_api.start("Write a mail")
            call = http_api.wait(run, "paused")["waiting"][0]
            status, _ = http_api.ask("POST", f"/api/runs/{run}/approvals", {"call_id": call["call_id"], **decision})
            assert status == 202
            found = http_api.wait(run)
            assert found["answer"] == answer
    with step("a refused call is not counted as failed"):
        assert found["counters"]["failed_calls"] == 0


@journey("A long tool with output while it runs; stop, and go on", on="HTTP")
def test_long_tool(http_api: Http):
    LET_GO.clear()
    with step("GET events: what the tool says is there while it runs"):
        run = http_api.start("Please build it")
        with urllib.request.urlopen(f"{http_api.address}/api/runs/{run}/events?detail=full") as events:
            assert any(b"compiling 214 modules" in line for line in events)
    with step("POST cancel: the run ends as cancelled"):
        http_api.ask("POST", f"/api/runs/{run}/cancel")
        assert http_api.wait(run)["stop_reason"] == "cancelled"
    with step("POST fork with branch: it goes on in its place, and ends"):
        LET_GO.set()
        again = http_api.ask("POST", f"/api/runs/{run}/fork", {"branch": True})[1]["run_id"]
        assert http_api.wait(again)["answer"] == "Built."
    with step("the next question of the conversation is answered"):
        assert http_api.answer("Good morning.", conversation=run, follows=again) == "Answer 2."


@journey("A text file goes with a question", on="HTTP")
def test_attachment(http_api: Http):
    with step("the question has a text and a file: the model sees what is in the file"):
        data = base64.b64encode(b"city,people\nBern,134591\n").decode()
        part = {"type": "file", "data": data, "mime": "text/csv", "name": "cities.csv"}
        run = http_api.start([{"type": "text", "text": "How long is this file?"}, part])
        assert http_api.wait(run)["answer"] == "Two lines."
    with step("the conversation is named after the words, not after the file"):
        assert http_api.get(f"/api/runs/{run}")["question"] == "How long is this file?"


@journey("Two people at once", on="HTTP")
def test_two_at_once(http_api: Http):
    with step("two questions are started before either is answered; each gets its own answer"):
        first, second = http_api.start("How high is the tower?"), http_api.start("Good morning.")
        assert (http_api.wait(second)["answer"], http_api.wait(first)["answer"]) == (
            "Answer 1.",
            "It is **330 m** high.",
        )


@journey("Search and find again", on="HTTP")
def test_search(http_api: Http):
    with step("a word of the answer finds the run"):
        http_api.answer("I am Zebedee.", agent="clerk")
        run = http_api.start("Find this again: quagga")
        http_api.wait(run)
        assert [hit["run_id"] for hit in http_api.get("/api/search?q=quagga")["hits"]] == [run]


@journey("A plan", on="HTTP")
def test_plan(http_api: Http):
    with step("an agent that plans is asked: both steps run, then the answer comes"):
        assert http_api.answer("How high is it in feet?", agent="planner") == "1,083 feet."


@journey("All that a task leaves open is one question", on="HTTP")
def test_open_points(http_api: Http):
    with step("the run waits once, with both calls"):
        run = http_api.start("Do what the list says", agent="secretary")
        waiting = {one["tool_args"]["to"]: one["call_id"] for one in http_api.wait(run, "paused")["waiting"]}
        assert list(waiting) == ["Ann", "Bob"]
    with step("one is allowed, the other refused, and the run ends without another question"):
        for name, allow in (("Bob", False), ("Ann", True)):
            body = {"call_id": waiting[name], "allow": allow}
            assert http_api.ask("POST", f"/api/runs/{run}/approvals", body)[0] == 202
        assert http_api.wait(run)["answer"].startswith("Written to: Ann.")


@journey("A tool that fails", on="HTTP")
def test_failing_tool(http_api: Http):
    with step("the run ends with an answer; the failed call is counted, and its card says why"):
        run = http_api.start("How high is Atlantis?")
        found = http_api.wait(run)
        assert (found["answer"], found["counters"]["failed_calls"]) == ("Nothing is known about that.", 1)
        assert "nothing is known about Atlantis Tower" in str(http_api.get(f"/api/runs/{run}/records"))
    with step("the next question of the conversation uses the same tool, which works"):
        assert http_api.answer("How high is the tower?", conversation=run, follows=run) == "It is **330 m** high."


@journey("The provider fails, is cut off, is slow, and is back", on="HTTP")
def test_moody_provider(http_api: Http):
    with step("it is busy once and cut off once: answered all the same"):
        MOODS[:] = ["busy", "cut"]
        assert http_api.answer("Hi", agent="by_address") == "Hello."
    with step("it is busy too long: the run ends with why"):
        MOODS[:] = ["busy"] * 3
        run = http_api.start("Hi again", agent="by_address")
        found = http_api.wait(run)
        assert (found["stop_reason"], "too busy" in found["error"]) == ("error", True)
    with step("it is back: POST fork with branch goes on in its place, and the conversation has one answered turn"):
        status, again = http_api.ask("POST", f"/api/runs/{run}/fork", {"branch": True})
        assert (status, http_api.wait(again["run_id"])["answer"]) == (201, "Hello.")
    with step("it is slow: the run is stopped meanwhile, and the next question is answered"):
        GO_ON.clear()
        MOODS[:] = ["slow"]
        slow = http_api.start("Hi", agent="by_address")
        eventually(lambda: not MOODS, "the provider is asked")
        http_api.ask("POST", f"/api/runs/{slow}/cancel")
        assert http_api.wait(slow)["stop_reason"] == "cancelled"
        GO_ON.set()
        assert http_api.answer("Hi", agent="by_address", conversation=slow, follows=slow) == "Hello."


@journey("The provider is not there", on="HTTP")
def test_dead_provider(http_api: Http):
    with step("the run ends, and says where nothing was found"):
        found = http_api.wait(http_api.start("Hi", agent="nobody"))
        assert (found["stop_reason"], "127.0.0.1:9" in found["error"]) == ("error", True)


@journey("Another answer to the same question, beside the first", on="HTTP")
def test_again(http_api: Http):
    with step("POST fork with at 0 and branch: another run in its place, and both are kept"):
        run = http_api.start("Good day.")
        first = http_api.wait(run)
        status, again = http_api.ask("POST", f"/api/runs/{run}/fork", {"at": 0, "branch": True})
        assert (status, http_api.wait(again["run_id"])["answer"]) == (201, first["answer"])
    with step("the conversation has both, and both follow the same turn"):
        runs = http_api.get(f"/api/conversations/{run}")["runs"]
        assert [(one["run_id"], one["follows"]) for one in runs] == [(run, ""), (again["run_id"], "")]
    with step("GET compare shows that they are the same"):
        compared = http_api.get(f"/api/compare?first={run}&second={again['run_id']}")
        assert {one["change"] for one in compared["steps"]} == {"same"}


@journey("Ask again in other words, and compare the branches", on="HTTP")
def test_branches(http_api: Http):
    with step("a question is asked in other words in its place: the answer is to those"):
        run = http_api.start("What is my name? I am Ann.")
        http_api.wait(run)
        body = {"at": 0, "branch": True, "question": "What is my name? I am Bob."}
        other = http_api.ask("POST", f"/api/runs/{run}/fork", body)[1]["run_id"]
        assert http_api.wait(other)["answer"] == "You are Bob."
    with step("a question after each branch knows only its own"):
        for last, name in ((run, "Ann"), (other, "Bob")):
            said = http_api.answer("Say my name", conversation=run, follows=last)
            assert said.startswith(f"You are {name}")


@journey("A model by its name, from the environment, and another one in the middle", on="HTTP")
def test_model_by_name(http_api: Http):
    with step("GET /api/agents names the models that may be chosen; the first question is answered by the first"):
        [clerk] = [one for one in http_api.get("/api/agents")["agents"] if one["name"] == "clerk"]
        first, second = clerk["models"]
        run = http_api.start("I am Ann.")
        assert http_api.wait(run)["model"] == first == clerk["model"]
    with step("the next one of the conversation goes to the other, which is told what was said"):
        last = http_api.start("Hi", model=second, conversation=run, follows=run)
        assert http_api.wait(last)["answer"] == "Hello."
        assert "I am Ann." in str(http_api.get(f"/api/runs/{last}/records"))
    with step("a model that is not there is refused, with those that are"):
        status, refused = http_api.ask("POST", "/api/runs", {"question": "Hi", "agent": "clerk", "model": "fake-9"})
        assert (status, second in refused["error"]["message"]) == (400, True), refused


@journey("A document", on="HTTP")
def test_document(http_api: Http):
    with step("the agent of a document is asked twice in a conversation: its components run, the last has the answer"):
        run = http_api.start("Hi", agent="desk")
        assert http_api.wait(run)["answer"] == "It says: Answer 1."
        assert http_api.answer("Hi", agent="desk", conversation=run, follows=run).startswith("It says: ")


@journey("A picture goes with a question", on="HTTP")
def test_picture(http_api: Http):
    part = {"type": "image", "data": DOT, "mime": "image/png", "name": "dot.png"}
    question = [{"type": "text", "text": "What is in this picture?"}, part]
    with step("the question has a text and a picture: the model sees it, and it can be fetched again"):
        run = http_api.start(question)
        assert http_api.wait(run)["answer"] == "A dot."
        assert http_api.fetch(f"/api/runs/{run}/files/0") == base64.b64decode(DOT)
    with step("for an agent whose model does not read pictures it is refused, with what may be done"):
        status, refused = http_api.ask("POST", "/api/runs", {"question": question, "agent": "blind"})
        assert (status, refused["error"]["message"].partition(": ")[0]) == (400, "dot.png")
        assert "send in words what it shows" in refused["error"]["message"]
    with step("the same agent goes on with the conversation: of the picture it is told in words"):
        assert http_api.answer("Good morning.", agent="blind", conversation=run, follows=run) == "Answer 2."


@journey("Export and import", on="HTTP")
def test_export(http_api: Http, tmp_path: Path):
    run = http_api.start("How high is the tower?")
    http_api.wait(run)
    with step("a conversation is saved as one page"):
        assert b"It is **330 m** high." in http_api.fetch(f"/api/conversations/{run}/export")
    with step("a proof of the answer is checked elsewhere, offline"):
        (tmp_path / "proof.jsonl").write_bytes(http_api.fetch(f"/api/runs/{run}/proof"))
        assert treadle(tmp_path, "verify", "proof.jsonl").code == 0
    with step("where somebody has changed it on the way, that is said"):
        forged = (tmp_path / "proof.jsonl").read_text().replace("330 m", "331 m")
        (tmp_path / "proof.jsonl").write_text(forged)
        assert treadle(tmp_path, "verify", "proof.jsonl").code == 1


@journey("A coding session", on="HTTP")
def test_coding(http_api: Http, coding_folder: Path):
    with step("a file is edited in a copy; the trees of the run show what changed, and the folder is as it was"):
        run = http_api.start("Mend the area", agent="coder")
        assert "[changed: area.py (+1 -1)]" in http_api.wait(run)["answer"]
        trees = f"/api/runs/{run}/trees"
        first, *_, last = (one["seq"] for one in http_api.get(trees)["trees"])
        assert "+    return w * h" in http_api.get(f"{trees}/{last}")["changes"][0]["difference"]
        assert "w + h" in (coding_folder / "area.py").read_text()
    with step("what would change is looked at, and then done; a second time it is refused: the folder has changed"):
        seen = {"now": http_api.get(f"{trees}/{last}/bring")["now"]}
        assert [http_api.ask("POST", f"{trees}/{last}/bring", seen)[0] for _ in range(2)] == [200, 409]
        assert "w * h" in (coding_folder / "area.py").read_text()
    with step("it is taken back: the folder becomes exactly what it was"):
        back = {"now": http_api.get(f"{trees}/{first}/bring?exact=true")["now"], "exact": True}
        assert http_api.ask("POST", f"{trees}/{first}/bring", back)[0] == 200
        assert "w + h" in (coding_folder / "area.py").read_text()


@journey("The program is killed and comes back", on="HTTP")
def test_killed(tmp_path: Path):
    (tmp_path / "mine.py").write_text(TOOLS)
    model = script(tmp_path, call("gate", name="north"), "It is open.")
    served = Http(f"http://127.0.0.1:{free_port()}")
    serve = ("serve", "--port", served.address.rpartition(":")[2], "-t", "mine.py:gate", "-m", model)
    with start(tmp_path, *serve) as server:
        eventually(served.answers, "the server answers")
        with step("a tool works, and the server is killed with kill -9"):
            run = served.start("Open it", agent=served.get("/api/agents")["agents"][0]["name"])
            eventually(lambda: "tool_started" in str(served.get(f"/api/runs/{run}/records")), "the tool works")
            server.kill()
            server.wait()
    open_gate(tmp_path, "north")
    with start(tmp_path, *serve):
        eventually(served.answers, "the server answers")
        with step("it is started again: the run goes on by itself, once, and the answer is there"):
            assert served.wait(run)["answer"] == "It is open."
            assert [one["run_id"] for one in served.get("/api/runs")["runs"]] == [run]


@journey("Why an answer is wrong", on="HTTP")
def test_why(http_api: Http):
    run = http_api.start("What is 2 + 3?", agent="rounder")
    assert http_api.wait(run)["answer"] == "About ten."
    with step("POST why without anything expected: what is missing is said"):
        assert "what its answer should have had" in http_api.ask("POST", f"/api/runs/{run}/why", {})[1]["failed"]
    with step("POST expected, then why: the line of the prompt that caused it, as a difference"):
        http_api.ask("POST", f"/api/runs/{run}/expected", {"answer": "Hello"})
        http_api.ask("POST", f"/api/runs/{run}/why", {})
        [cause, *_] = eventually(lambda: http_api.get(f"/api/runs/{run}/why")["causes"], "the cause is found")
        assert cause["change"] == "the system prompt without 'Always round up.'"
        assert "-Always round up." in cause["difference"]
    with step("the run in which it goes right can be read"):
        assert http_api.get(f"/api/runs/{cause['run']}")["answer"] == "Hello."


@journey("Memory, seen and erased", on="HTTP")
def test_memory(http_api: Http):
    with step("what an agent found out is listed, with the run it comes from"):
        run = http_api.start("How high is the tower that I like?", agent="friend")
        http_api.wait(run)
        stores = {one["name"]: one for one in http_api.get("/api/memory")["stores"]}
        [user] = (name for name, kept in stores["friend"]["about"].items() if kept)
        [memory] = http_api.get(f"/api/memory/friend?user={user}")["memories"]
        assert (memory["summary"], memory["run_id"]) == ("Ann likes tall buildings.", run)
    with step("it is changed, and changed back; the next question has it"):
        for summary in ("Ann likes towers.", "Ann likes tall buildings."):
            assert http_api.ask("POST", f"/api/memory/friend/{memory['id']}", {"summary": summary})[0] == 200
        assert http_api.answer("What do I like?", agent="friend") == "You like tall buildings."
    with step("everything is forgotten: the next question begins from nothing"):
        assert http_api.ask("DELETE", f"/api/memory/friend?user={user}")[0] == 200
        assert http_api.answer("What do I like?", agent="friend") == "330 m."
        http_api.ask("DELETE", f"/api/memory/friend?user={user}")


@journey("A wrong setting", on="HTTP")
def test_wrong_setting(http_api: Http):
    with step("POST a run with a setting that cannot be: it is refused, and the setting is named"):
        body = {"question": "Hi", "agent": "clerk", "settings": {"max_iterations": 0}}
        status, refused = http_api.ask("POST", "/api/runs", body)
        assert (status, "max_iterations" in refused["error"]["message"]) == (400, True)


@journey("An agent without tools", on="HTTP")
def test_without_tools(http_api: Http):
    with step("GET agents: it has none; asked, it answers"):
        agents = {one["name"]: one for one in http_api.get("/api/agents")["agents"]}
        assert agents["by_address"]["tools"] == []
        assert http_api.answer("Hi", agent="by_address") == "Hello."


@journey("Something mistyped", on="HTTP")
def test_mistyped(http_api: Http):
    with step("an agent that is not there: those that are there are named"):
        status, refused = http_api.ask("POST", "/api/runs", {"question": "Hi", "agent": "clrek"})
        assert (status, "clerk" in refused["error"]["message"]) == (404, True)
    with step("a field that is not there: those that it takes are named"):
        status, refused = http_api.ask("POST", "/api/runs", {"questoin": "Hi"})
        assert (status, "it takes question, " in refused["error"]["message"]) == (400, True), refused
    with step("a path that is not there: where they all are"):
        assert "/openapi.json" in http_api.ask("GET", "/api/rnus")[1]["error"]["message"]


@journey("Another program: recorded, looked at, its cause found, forked", on="HTTP")
def test_recorded_program(model_server: str, tmp_path: Path):
    (tmp_path / "app.py").write_text(RECORDED)
    keys = {"OPENAI_BASE_URL": model_server, "OPENAI_API_KEY": "sk-test"}
    assert treadle(tmp_path, "record", "--", sys.executable, "app.py", **keys).code == 0
    served = Http(f"http://127.0.0.1:{free_port()}")
    with start(tmp_path, "serve", "--port", served.address.rpartition(":")[2], "-m", model_server, "-t", "none"):
        eventually(served.answers, "the server answers")
        with step("a server on the same journal lists the run, with its question, its answer and its prompt"):
            [run] = served.get("/api/runs")["runs"]
            assert (run["question"], run["tags"]) == ("What is 2 + 3?", ["recorded"])
            assert "Always round up." in str(served.get(f"/api/runs/{run['run_id']}/records"))
        with step("POST why: its agent is not on this server; the command that asks why is named"):
            status, refused = served.ask("POST", f"/api/runs/{run['run_id']}/why", {"requests": 9})
            asked = f"treadle runs why {run['run_id']}"
            assert (status, asked in refused["error"]["message"]) == (409, True)
    with step("that command finds the line of the prompt"):
        found = treadle(tmp_path, *asked.split()[1:], "--expect", "Hello", **keys)
        assert "without 'Always round up.'" in found.out, found.err
