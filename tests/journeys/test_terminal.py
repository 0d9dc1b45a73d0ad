"""Journeys in the terminal: the program as it is installed, on a pseudo-terminal where somebody types."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.terminal import TOOLS, Terminal, call, open_gate, script, treadle

from .conftest import DOT, GO_ON, MOODS, RECORDED, desk_document
from .walking import journey, step


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@journey("A first question", on="terminal")
def test_first_question(home: Path):
    model = script(home, call("calculator", expression="17 * 23 + 4"), "It is 395.")
    with (
        step("treadle run: the call, its result, the answer"),
        Terminal(home, "run", "17 * 23 + 4?", "-m", model) as seen,
    ):
        assert seen.end() == 0
        assert "calculator" in seen.text
        assert "It is 395." in seen.text
    with step("treadle runs list --search finds it by its answer"):
        assert "17 * 23" in treadle(home, "runs", "list", "--search", "395.").out


@journey("A conversation in which a later question needs an earlier one", on="terminal")
def test_conversation(home: Path):
    with Terminal(home, "chat", "-m", script(home, "Hello, Ann.", "You are Ann.")) as seen:
        with step("treadle chat: she says her name at the prompt"):
            seen.wait_for_prompt()
            seen.type("I am Ann.\r")
            seen.wait_for("Hello, Ann.")
        with step("she asks for it, and leaves"):
            seen.wait_for_prompt()
            seen.forget()
            seen.type("What is my name?\r")
            seen.wait_for("You are Ann.")
            seen.wait_for_prompt()
            seen.type("/exit\r")
            assert seen.end() == 0


@journey("A model by its address, asked three times", on="terminal")
def test_model_by_address(home: Path, model_server: str):
    with step("treadle run -m http://...: answered"):
        assert "Hello." in treadle(home, "run", "Hi", "-m", model_server).out


@journey("The provider is not there", on="terminal")
def test_dead_server(home: Path):
    with step("why is said once, what to do with it, and the program ends with 1"):
        done = treadle(home, "run", "Hi", "-m", "http://127.0.0.1:9/v1")
        assert done.code == 1
        assert done.err.count("no model was found") == 2, "as it happens, and as the end"
        assert "failed in the same way" in done.err
        assert "Python" not in done.err
        assert "api_key" not in done.err


@journey("Something mistyped", on="terminal")
def test_mistyped(home: Path):
    mistyped = (
        (("rn",), "did you mean 'run'"),
        (("run", "Hi", "--modle", "x"), "did you mean '--model'"),
        (("runs", "list", "--journal", "no/such/j.db"), "no folder"),
    )
    for words, said in mistyped:
        with step(f"treadle {' '.join(words)}: what was meant is named, and nothing is created"):
            done = treadle(home, *words)
            assert (done.code, said in done.err) == (2, True), done.err
            assert not (home / "no").exists()
    with step("a key that is missing: the variable is named, nothing about Python"):
        missing = treadle(home, "run", "Hi", "-m", "openai:gpt-5")
        assert "set OPENAI_API_KEY" in missing.err
        assert "api_key=" not in missing.err


@journey("Export and import", on="terminal")
def test_export(home: Path):
    with step("a folder that is not there is named; nothing is written"):
        treadle(home, "run", "Which animal?", "-m", script(home, "A zebra."))
        refused = treadle(home, "runs", "export", "last", "-o", "no/run.jsonl")
        assert refused.err == "treadle: no/run.jsonl: No such file or directory\n"
    with step("the run is exported, imported into another journal, and shown there"):
        treadle(home, "runs", "export", "last", "-o", "run.jsonl")
        treadle(home, "runs", "import", "run.jsonl", "--journal", "other.db")
        assert "A zebra." in treadle(home, "runs", "show", "last", "--journal", "other.db").out


@journey("All that a task leaves open is one question", on="terminal")
def test_open_points(home: Path):
    (home / "mytools.py").write_text(TOOLS)
    ann, bob = call("pay", to="ann"), call("pay", to="bob")
    may = f"may={json.dumps({'read': ['visit'], 'act': [{'tool': '*', 'ask': True}]})}"
    model = script(home, call("visit", url="https://example.org"), ann, bob, [ann, bob], "Done.")
    arguments = ("-m", model, "-t", "mytools:visit", "-t", "mytools:pay", "--set", may)
    with Terminal(home, "run", "Do what the page says", *arguments) as seen:
        with step("one question shows both calls; she wants to decide each by itself"):
            seen.wait_for('? pay {"to":"bob"}')
            seen.wait_for("allow all of these?")
            assert not (home / "paid.txt").exists()
            seen.forget()
            seen.type("each\n")
        with step("she allows one and refuses the other, and nothing else is asked"):
            for to, line in (("ann", "yes\n"), ("bob", "no\n")):
                seen.wait_for(f'? pay {{"to":"{to}"}}')
                seen.wait_for("allow this call?")
                seen.forget()
                seen.type(line)
            seen.end()
        assert (home / "paid.txt").read_text() == "ann\n"


@journey("A model by its name, from the environment, and another one in the middle", on="terminal")
def test_model_by_name(home: Path, model_server: str):
    with step("treadle run -m openai:fake-1: answered"):
        keys = {"OPENAI_BASE_URL": model_server, "OPENAI_API_KEY": "sk-test"}
        assert "Hello." in treadle(home, "run", "Hi", "-m", "openai:fake-1", **keys).out
    with step("TREADLE_MODEL names it, and treadle run needs no -m"):
        assert "Hello." in treadle(home, "run", "Hi", TREADLE_MODEL=model_server).out
    with (
        step("in treadle chat she goes over to another with /model"),
        Terminal(home, "chat", "-m", script(home, "I am the first.")) as seen,
    ):
        seen.wait_for_prompt()
        seen.type("Who are you?\r")
        seen.wait_for("I am the first.")
        seen.wait_for_prompt()
        seen.type(f"/model {model_server}\r")
        seen.wait_for(f"model: {model_server}")
        seen.wait_for_prompt()
        seen.forget()
        seen.type("And now?\r")
        seen.wait_for("Hello.")


@journey("A call is approved, changed, refused", on="terminal")
def test_approvals(home: Path):
    (home / "mine.py").write_text(TOOLS)
    calls = [call("erase", path=name) for name in ("a.txt", "b.txt", "c.txt")]
    with Terminal(home, "run", "Clean up", "-t", "mine.py:erase", "-m", script(home, *calls, "Done.")) as seen:
        with step("she is asked about the first, and says yes"):
            seen.wait_for('? erase {"path":"a.txt"}')
            seen.wait_for("allow this call?")
            seen.forget()
            seen.type("y\r")
        with step("she changes the path of the second, then allows it"):
            seen.wait_for('? erase {"path":"b.txt"}')
            seen.wait_for("allow this call?")
            seen.type("e\r")
            seen.wait_for('? {"path":"b.txt"}')
            seen.forget()
            seen.type("\x15" + '{"path":"B.txt"}\r')
            seen.wait_for("? ▏")
            seen.forget()
            seen.type("y\r")
        with step("she refuses the third, and says why; it is not done"):
            seen.wait_for('? erase {"path":"c.txt"}')
            seen.wait_for("allow this call?")
            seen.type("no, that one is mine\r")
            seen.wait_for("Done.")
            assert seen.end() == 0
            assert (home / "erased.txt").read_text().split() == ["a.txt", "B.txt"]


@journey("A long tool with output while it runs; stop, and go on", on="terminal")
def test_long_tool(home: Path):
    (home / "mine.py").write_text(TOOLS)
    model = script(home, call("gate", name="north"), call("gate", name="north"), "It is open.")
    with Terminal(home, "chat", "-t", "mine.py:gate", "-m", model) as seen:
        with step("treadle chat: she sees what the tool says while it runs, and presses Ctrl-C"):
            seen.wait_for_prompt()
            seen.type("Open it\r")
            seen.wait_for("waiting at north")
            seen.ctrl_c()
            seen.wait_for("cancelled")
        with step("she says go on, and it ends"):
            open_gate(home, "north")
            seen.wait_for_prompt()
            seen.type("Go on\r")
            seen.wait_for("It is open.")


@journey("The provider fails, is cut off, is slow, and is back", on="terminal")
def test_moody_provider(home: Path, model_server: str):
    with step("it is busy once and cut off once: she is told, and answered all the same"):
        MOODS[:] = ["busy", "cut"]
        done = treadle(home, "run", "Hi", "-t", "none", "-m", model_server)
        assert (done.out.strip(), done.code) == ("Hello.", 0), done.err
        assert "too busy" in done.err
    with step("it is busy too long: that is said once, and when it is back, the run goes on"):
        MOODS[:] = ["busy"] * 3
        assert treadle(home, "run", "Hi", "-t", "none", "-m", model_server).err.count("too busy") == 2
        again = treadle(home, "runs", "resume", "last")
        assert (again.out.strip(), again.code) == ("Hello.", 0), again.err
    with (
        step("it is slow: what it waits for stands there, and then the answer"),
        Terminal(home, "run", "Hi", "-t", "none", "-m", model_server) as seen,
    ):
        GO_ON.clear()
        MOODS[:] = ["slow"]
        seen.wait_for("thinking")
        GO_ON.set()
        assert seen.end() == 0
        assert "Hello." in seen.text


@journey("A coding session", on="terminal")
def test_coding(home: Path):
    project = home / "project"
    project.mkdir()
    (project / "area.py").write_text("def area(w, h):\n    return w + h\n")
    edit = call("edit", path="area.py", edits=[{"old": "w + h", "new": "w * h"}])
    model = script(
        home, edit, "It multiplies now. The tests were not run.", "It multiplies now. The tests were not run."
    )
    state = {"TREADLE_STATE": str(home / "state"), "HOME": str(home)}
    with step("treadle code: the file is edited in a copy, and what changed is said; hers is as it was"):
        done = treadle(project, "code", "-w", "copy", "-m", model, stdin="Mend the area\n/diff\n", **state)
        assert "[changed: area.py (+1 -1)]" in done.out
        assert "+    return w * h" in done.out
        assert "w + h" in (project / "area.py").read_text()
    with step("treadle runs apply brings it into her folder"):
        applied = treadle(project, "runs", "apply", "last", "--yes", **state)
        assert applied.code == 0, applied.err
        assert "w * h" in (project / "area.py").read_text()


@journey("Another program: recorded, looked at, its cause found, forked", on="terminal")
def test_recorded_program(home: Path, model_server: str):
    (home / "app.py").write_text(RECORDED)
    keys = {"OPENAI_BASE_URL": model_server, "OPENAI_API_KEY": "sk-test"}
    with step("treadle record -- python app.py: it works as without, and is a run"):
        done = treadle(home, "record", "--", sys.executable, "app.py", **keys)
        assert (done.out, done.code) == ("About ten.\n", 0), done.err
        assert "What is 2 + 3?" in treadle(home, "runs", "show", "last").out
    with step("treadle runs why last without the key of the program: no other model is asked instead"):
        refused = treadle(home, "runs", "why", "last", "--expect", "Hello")
        assert (refused.code, "set OPENAI_API_KEY" in refused.err) == (2, True), refused.err
    with step("treadle runs why last: the line of the prompt that caused it"):
        found = treadle(home, "runs", "why", "last", "--expect", "Hello", **keys)
        assert "without 'Always round up.'" in found.out, found.out + found.err
    with step("treadle runs fork: it goes on from there, in words of hers"):
        run = json.loads(treadle(home, "runs", "list", "--json").out.splitlines()[-1])["run_id"]
        forked = treadle(home, "runs", "fork", run, "--at", "1", "--go", "--say", "In full, please.", **keys)
        assert forked.code == 0, forked.err
        assert "About ten." in forked.out


@journey("A document", on="terminal")
def test_document(home: Path):
    desk_document(home)
    with step("treadle run -f desk.json: the components run, and the last one has the answer"):
        done = treadle(home, "run", "Hi", "-f", "desk.json", "-m", script(home, "Good day."))
        assert "It says: Good day." in done.out, done.err


@journey("The program is killed and comes back", on="terminal")
def test_killed(home: Path):
    (home / "mine.py").write_text(TOOLS)
    model = script(home, "Good morning.", call("gate", name="north"))
    with (
        step("treadle chat: a tool of her second question works, and the program is killed with kill -9"),
        Terminal(home, "chat", "-t", "mine.py:gate", "-m", model) as seen,
    ):
        for words, shown in (("Hello", "Good morning."), ("Open it", "waiting at north")):
            seen.wait_for_prompt()
            seen.type(f"{words}\r")
            seen.wait_for(shown)
        seen.kill()
    open_gate(home, "north")
    later = script(home, "It is open.", "As you asked.", name="later")
    with Terminal(home, "chat", "--continue", "-t", "mine.py:gate", "-m", later) as seen:
        with step("treadle chat --continue: the question goes on by itself, and is answered"):
            seen.wait_for("it had not ended: it goes on")
            seen.wait_for("It is open.")
            seen.wait_for_prompt()
        with step("she asks the next one in the same conversation"):
            seen.type("Is it open now?\r")
            seen.wait_for("As you asked.")
            seen.wait_for_prompt()
            seen.type("/exit\r")
            assert seen.end() == 0
        assert treadle(home, "runs", "list").out.count(" answer ") == 3


@journey("A tool that fails", on="terminal")
def test_failing_tool(home: Path):
    failing, working = call("calculator", expression="1/0"), call("calculator", expression="2+2")
    model = script(home, failing, "That has no value.", working, "It is four.")
    with Terminal(home, "chat", "-t", "calculator", "-m", model) as seen:
        with step("the card says that it failed, and why; the answer comes all the same"):
            seen.wait_for_prompt()
            seen.type("What is 1/0?\r")
            seen.wait_for("That has no value.")
            seen.wait_for_prompt()
            assert "failed: division by zero" in seen.text
        with step("the next question uses the same tool, which works"):
            seen.type("And 2+2?\r")
            seen.wait_for("It is four.")
            seen.wait_for_prompt()
            seen.type("/exit\r")
            assert seen.end() == 0
    with step("treadle runs show: the step with its error"):
        first = treadle(home, "runs", "list", "--ids").out.split()[-1]
        assert "exception" in treadle(home, "runs", "show", first).out


@journey("A plan", on="terminal")
def test_plan(home: Path):
    steps: list[dict[str, Any]] = [{"text": "Look it up", "done": False}, {"text": "Say it", "done": False}]
    done = [{**one, "done": True} for one in steps]
    planned, ended = call("update_plan", steps=steps), call("update_plan", steps=done)
    model = script(home, planned, call("calculator", expression="2+2"), ended, "It is four.", ended)
    with (
        step("treadle run --plan: she sees the steps, then those that are done, then the answer"),
        Terminal(home, "run", "What is 2+2?", "--plan", "-t", "calculator", "-m", model) as seen,
    ):
        assert seen.end() == 0
        assert seen.text.index("☐ Look it up") < seen.text.index("☑ Say it") < seen.text.index("It is four.")


@journey("A text file goes with a question", on="terminal")
def test_attachment(home: Path):
    (home / "cities.csv").write_text("city,people\nBern,134591\n")
    with step("treadle run --attach: the model is sent what is in the file, and the run names it"):
        done = treadle(home, "run", "How long?", "--attach", "cities.csv", "-m", script(home, "Two lines."))
        assert done.out == "Two lines.\n", done.err
        assert "Bern,134591" in treadle(home, "runs", "explain", "last", "--text").out
        assert "[cities.csv]" in treadle(home, "runs", "show", "last").out
    with step("a name that is mistyped is said, and nothing is asked"):
        assert "citis.csv cannot be read" in treadle(home, "run", "How long?", "--attach", "citis.csv").err


@journey("Two people at once", on="terminal")
def test_two_at_once(home: Path):
    (home / "mine.py").write_text(TOOLS)
    anns = script(home, call("gate", name="north"), "It is open, Ann.", "Ann again.", name="ann")
    bobs = script(home, "Good morning, Bob.", "Bob again.", name="bob")
    with Terminal(home, "chat", "-t", "mine.py:gate", "-m", anns) as ann, Terminal(home, "chat", "-m", bobs) as bob:
        with step("Bob is answered, and a tool works for Ann, on the same journal"):
            for seen, words, shown in ((bob, "Hello", "Good morning, Bob."), (ann, "Open it", "waiting at north")):
                seen.wait_for_prompt()
                seen.type(f"{words}\r")
                seen.wait_for(shown)
        with step("Carl wants to continue the newest conversation: he is told that it is under way, and gets Bob's"):
            continued = treadle(home, "chat", "--continue", "-m", bobs, stdin="And I am Carl\n")
            assert "another process drives run" in continued.err
            assert "Good morning, Bob." in continued.out
        with step("Bob asks on: he is told that his conversation has gone on elsewhere, and is answered"):
            bob.wait_for_prompt()
            bob.forget()
            bob.type("And now?\r")
            bob.wait_for("gone on with: And I am Carl")
            bob.wait_for("Bob again.")
        with step("Ann's goes on as if nobody else were there, and nothing of anybody is lost"):
            open_gate(home, "north")
            ann.wait_for("It is open, Ann.")
            assert treadle(home, "runs", "list").out.count(" answer ") == 4


@journey("A picture goes with a question", on="terminal")
def test_picture(home: Path):
    (home / "dot.png").write_bytes(base64.b64decode(DOT))
    with (
        step("treadle chat: @dot.png puts it into the question, and the model is sent it"),
        Terminal(home, "chat", "-m", script(home, "A dot.")) as seen,
    ):
        seen.wait_for_prompt()
        seen.type("What is in @dot.png\r")
        seen.wait_for("A dot.")
        seen.wait_for_prompt()
        assert DOT in treadle(home, "runs", "explain", "last", "--text").out
    with step("for a model that does not read pictures it is refused, in words of the terminal"):
        blind = script(home, "A dot.", abilities={"vision": False})
        done = treadle(home, "run", "What is it?", "--attach", "dot.png", "-m", blind)
        assert done.code == 2
        assert "does not read images: use a model that can, or send in words what it shows\n" in done.err


@journey("Search and find again", on="terminal")
def test_search(home: Path):
    for question, answer in (("Which animal?", "An okapi."), ("Which town?", "Bern.")):
        treadle(home, "run", question, "-t", "none", "-m", script(home, answer))
    with step("treadle runs list --search: a word of the answer finds the run, one that nobody said none"):
        found = treadle(home, "runs", "list", "--search", "OKAPI", "--json").out
        assert json.loads(found)["question"] == "Which animal?"
        assert treadle(home, "runs", "list", "--search", "giraffe").out == "no runs match\n"
    with step("treadle chat --resume goes on with it"):
        run, model = json.loads(found)["run_id"], script(home, "In the Congo.")
        assert "In the Congo." in treadle(home, "chat", "--resume", run, "-m", model, stdin="Where?\n").out


@journey("Another answer to the same question, beside the first", on="terminal")
def test_again(home: Path):
    model = script(home, "A zebra.", "An okapi.")
    with (
        step("in treadle chat she has it answered again with /fork 1, in other words"),
        Terminal(home, "chat", "-t", "none", "-m", model) as seen,
    ):
        for words, shown in (("Which animal?", "A zebra."), ("/fork 1 Of the forest", "An okapi.")):
            seen.wait_for_prompt()
            seen.type(f"{words}\r")
            seen.wait_for(shown)
        seen.wait_for_prompt()
    with step("treadle runs compare shows both, side by side"):
        second, first = treadle(home, "runs", "list", "--ids").out.split()
        compared = treadle(home, "runs", "compare", first, second).out
        assert "- A zebra." in compared
        assert "+ An okapi." in compared
    with step("treadle runs show says of the second what it comes from, and what she said to it"):
        shown = treadle(home, "runs", "show", "last").out
        assert f"fork of  {first}" in shown
        assert "Of the forest" in shown


@journey("Why an answer is wrong", on="terminal")
def test_why(home: Path, model_server: str):
    treadle(home, "run", "What is 2 + 3?", "--system", "Always round up.", "-t", "none", "-m", model_server)
    with step("treadle runs explain: what stood in the request, and where it came from"):
        assert "Always round up." in treadle(home, "runs", "explain", "last").out
    with step("treadle runs why without more: she is told how to say what was expected"):
        asked = treadle(home, "runs", "why", "last")
        assert (asked.code, "--expect" in asked.err, "=..." in asked.err) == (2, True, False), asked.err
    with step("she marks the answer, and runs why names the line that caused it"):
        treadle(home, "runs", "mark", "last", "--expect", "Hello")
        assert "without 'Always round up.'" in treadle(home, "runs", "why", "last").out


@journey("Memory, seen and erased", on="terminal")
def test_memory(home: Path):
    remembering = ("-p", "reflective", "--set", "dialect=native", "-t", "calculator", "-m")
    said = script(
        home, "Work it out.", call("calculator", expression="12*12"), "Good.", "-", "It is 144.", "It is a gross."
    )
    with step("an agent that remembers finds something out; treadle memory list shows what it has kept"):
        assert "It is 144." in treadle(home, "run", "What is 12*12?", *remembering, said).out
        assert "It is a gross." in treadle(home, "memory", "list").out
    with step("she changes it; the next question has it"):
        treadle(home, "memory", "edit", "1", "It is twelve dozen.")
        treadle(home, "run", "What is 12*12?", *remembering, script(home, *["1"] * 9))
        assert "It is twelve dozen." in treadle(home, "runs", "show", "last", "--json").out
    with (
        step("she has everything forgotten, and confirms it; a second time there is nothing to confirm"),
        Terminal(home, "memory", "forget", "--user", "local") as seen,
    ):
        seen.wait_for("forget 1 memory about local for good?")
        seen.type("yes\r")
        assert seen.end() == 0
    with Terminal(home, "memory", "forget", "--user", "local") as again:
        again.wait_for("nothing is remembered about local")


@journey("A wrong setting", on="terminal")
def test_wrong_setting(home: Path):
    for setting, said in (("max_iterations=0", "a whole number of at least 1"), ("max_iteration=3", "max_iterations")):
        with step(f"--set {setting}: what would do is named, and nothing is asked"):
            done = treadle(home, "run", "Hi", "--set", setting, "-m", script(home, "Hello."))
            assert (done.code, done.out, said in done.err) == (2, "", True), done.err


@journey("An agent without tools", on="terminal")
def test_without_tools(home: Path):
    with step("treadle run -t none: it answers, and treadle runs show names no tool"):
        done = treadle(home, "run", "Hi", "-t", "none", "-m", script(home, "Hello."))
        assert (done.out, done.code) == ("Hello.\n", 0), done.err
        assert "tools    none" in treadle(home, "runs", "show", "last").out


@journey("Ask again in other words, and compare the branches", on="terminal")
def test_branches(home: Path):
    with (
        step("/undo forgets her last question; she asks it in other words, and is answered"),
        Terminal(home, "chat", "-t", "none", "-m", script(home, "Good day.", "A zebra.", "An okapi.")) as seen,
    ):
        turns = (("Hello", "Good day."), ("Which animal?", "A zebra."), ("/undo", "are forgotten"))
        for words, shown in (*turns, ("Which animal of the forest?", "An okapi.")):
            seen.wait_for_prompt()
            seen.forget()
            seen.type(f"{words}\r")
            seen.wait_for(shown)
        seen.wait_for_prompt()
    with step("both branches are kept; treadle runs compare shows where they part"):
        second, first, _ = treadle(home, "runs", "list", "--ids").out.split()
        compared = treadle(home, "runs", "compare", first, second).out
        assert "- A zebra." in compared
        assert "+ An okapi." in compared
        assert "Good day." in treadle(home, "runs", "explain", second, "--text").out
