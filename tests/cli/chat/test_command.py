"""A chat on a terminal, and from a pipe."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.terminal import Terminal, call, logs, open_gate, recorded, script, treadle
from models.loopback import Answer, Received, reply, running, stream
from models.wires import ChatWire, Sample
from processes import interruptible, uninterruptible
from waiting import eventually

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
pytest.importorskip("rich")


def test_chat_with_an_interrupt_while_it_works(home: Path):
    model = script(home, call("gate", name="a"), "In euros: **360**.", "You asked about euros.")
    with Terminal(home, "chat", "-m", model, "-t", "mytools:gate") as screen:
        screen.wait_for_prompt()
        screen.type("How much is it?\n")
        screen.wait_for("waiting at a")
        screen.type("and in euross\x7f?")
        screen.wait_for("> and in euros?▏")
        screen.type("\n")
        screen.wait_for("sent: and in euros?")
        open_gate(home, "a")
        screen.wait_for("In euros: 360.")
        screen.wait_for("✓ 2 steps")
        screen.wait_for_prompt()
        screen.forget()
        screen.type("What did I ask?\n")
        screen.wait_for("You asked about euros.")
        screen.wait_for("✓")
        screen.wait_for_prompt()
        screen.type("/quit\n")
        assert screen.end() == 0
    first, second = logs(home)
    assert [r["event"]["texts"] for r in first if r["event"]["type"] == "injected"] == [["and in euros?"]]
    assert "and in euros?" in str(second[0]["event"]["history"])


@pytest.mark.parametrize(("signals", "at_once"), [(interruptible, True), (uninterruptible, False)])
def test_chat_ctrl_c_stops_the_run_and_the_chat_goes_on(home: Path, signals: Any, at_once: bool):
    model = script(home, call("gate", name="a"), "here I am")
    with Terminal(home, "chat", "-m", model, "-t", "mytools:gate", signals=signals) as screen:
        screen.wait_for_prompt()
        screen.type("go\n")
        screen.wait_for("waiting at a")
        screen.ctrl_c()
        screen.wait_for("✗ cancelled")
        screen.wait_for_prompt()
        screen.forget()
        screen.type("and now?\n")
        screen.wait_for("here I am")
        screen.wait_for("✓")
        if not at_once:  # else while the program is busy between the answer and its prompt
            screen.wait_for_prompt()
        screen.ctrl_c_until("Ctrl-C again ends the chat")
        screen.wait_for_prompt()
        assert screen.ctrl_c_until_end() == 130


def test_chat_what_was_typed_but_not_sent_is_still_there(home: Path):
    model = script(home, call("gate", name="a"), "first", "second")
    with Terminal(home, "chat", "-m", model, "-t", "mytools:gate") as screen:
        screen.wait_for_prompt()
        screen.type("go\n")
        screen.wait_for("waiting at a")
        screen.type("half a ")
        screen.wait_for("half a ")
        open_gate(home, "a")
        screen.wait_for("✓ 2 steps")
        screen.wait_for_prompt("half a ")
        screen.type("question\n")
        screen.wait_for("second")
        screen.wait_for("✓")
        screen.wait_for_prompt()
        screen.type("\x04")
        assert screen.end() == 0
    assert recorded(home)[0]["question"] == "half a question"


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
@pytest.mark.parametrize("begun", ["y", "always"])
def test_a_line_begun_before_the_question_is_a_message_and_no_answer(home: Path, begun: str, term: str):
    model = script(home, call("gate", name="g"), call("erase", path="a"), "done")
    tools = ("-t", "mytools:gate", "-t", "mytools:erase")
    with Terminal(home, "chat", "-m", model, *tools, TERM=term) as screen:
        screen.wait_for_prompt()
        screen.type("go\n")
        screen.forget()
        if term == "dumb":
            eventually(lambda: logs(home) and recorded(home, "tool_started"), "the call")
        else:
            screen.wait_for("waiting at g")
        screen.type(begun)
        screen.wait_for(begun if term == "dumb" else f"> {begun}▏")
        open_gate(home, "g")
        screen.wait_for("allow this call?")
        screen.wait_for("the line you have begun is sent as a message first")
        screen.forget()
        screen.type(" use b\n")
        screen.wait_for(f"sent: {begun} use b")
        screen.type("yes please\n")
        screen.wait_for("not an answer, nothing was decided")
        assert not (home / "erased.txt").exists()
        screen.type("no\n")
        screen.wait_for("done")
        screen.wait_for_prompt()
        screen.type("/quit\n")
        assert screen.end() == 0
    assert ("\x1b" in screen.raw) is (term != "dumb")
    assert [event["texts"] for event in recorded(home, "injected")] == [[f"{begun} use b"]]
    assert [event["allow"] for event in recorded(home, "approved")] == [False]
    assert not (home / "erased.txt").exists()


def test_a_begun_line_that_is_deleted_again_makes_room_for_the_answer(home: Path):
    model = script(home, call("gate", name="g"), call("erase", path="a"), "done")
    with Terminal(home, "chat", "-m", model, "-t", "mytools:gate", "-t", "mytools:erase") as screen:
        screen.wait_for_prompt()
        screen.type("go\n")
        screen.wait_for("waiting at g")
        screen.type("hm")
        screen.wait_for("> hm▏")
        open_gate(home, "g")
        screen.wait_for("allow this call?")
        screen.type("\x7f\x7fyes\nand thanks")
        screen.wait_for("✓")
        screen.wait_for_prompt("and thanks")
        assert screen.ctrl_c_until_end() == 130
    assert (home / "erased.txt").read_text() == "a\n"
    assert not recorded(home, "injected")


def test_chat_multi_line_by_backslash_and_by_paste(home: Path):
    with Terminal(home, "chat", "-m", script(home, "one", "two")) as screen:
        screen.wait_for_prompt()
        screen.type("first \\\n")
        screen.wait_for("… ")
        screen.type("second\n")
        screen.wait_for("✓")
        screen.wait_for_prompt()
        screen.type("pasted 1\npasted 2\n")
        screen.wait_for("two")
        screen.wait_for_prompt()
        screen.type("/quit\n")
        assert screen.end() == 0
    assert [log[0]["event"]["question"] for log in logs(home)] == ["first \nsecond", "pasted 1\npasted 2"]


def test_the_program_alone_is_a_chat_on_a_terminal_and_help_elsewhere(home: Path):
    with Terminal(home, TREADLE_MODEL=script(home, "here")) as screen:
        screen.wait_for_prompt()
        screen.type("anybody?\n")
        screen.wait_for("here")
        screen.wait_for_prompt()
        screen.type("\x04")
        assert screen.end() == 0
    assert "TREADLE_MODEL is set" in " ".join(screen.text.split()), "it may be wrapped"
    done = treadle(home)
    assert (done.code, "usage: treadle" in done.out) == (2, True)


def test_the_status_line_has_the_price_where_it_is_known(home: Path):
    """Over the wire, from a model with a price: sixty tokens read, forty of them again, twenty written."""
    wire = ChatWire()

    def say(request: Received) -> Answer:
        if not request.path.endswith("/chat/completions"):
            return reply({"error": {"message": "there is no such thing"}}, 404)
        sample = Sample("Four.")
        return stream(*wire.events(sample)) if request.json.get("stream") else wire.whole(sample)

    with running(say) as url:
        env = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k-for-tests"}
        with Terminal(home, "chat", "-m", "openai:gpt-4o", "-t", "none", **env) as screen:
            screen.wait_for_prompt()
            screen.type("2 + 2?\n")
            screen.wait_for("✓")
            screen.wait_for_prompt()
            assert re.search(r"gpt-4o · 120 tokens \(40 cached\) · \$0\.0004\r\n> $", screen.text), screen.text
            screen.type("/cost\n")
            screen.wait_for("1 question, 120 tokens (40 cached) · $0.0004")
            screen.wait_for_prompt()
            screen.type("\x04")
            assert screen.end() == 0


def test_tab_completes_commands_and_files(home: Path):
    (home / "numbers.csv").write_text("1;2")
    with Terminal(home, "chat", "-m", script(home, "three")) as screen:
        screen.wait_for_prompt()
        screen.type("/und\t")
        screen.wait_for_prompt("/undo")
        screen.type("\n")
        screen.wait_for("nothing to undo")
        screen.wait_for_prompt()
        screen.type("add @numb\t")
        screen.wait_for_prompt("add @numbers.csv")
        screen.type(" up\n")
        screen.wait_for("✓")
        screen.wait_for_prompt()
        screen.type("\x04")
        assert screen.end() == 0
    asked, file = recorded(home)[0]["question"]
    assert (asked["text"], file["name"], file["text"]) == ("add @numbers.csv up", "numbers.csv", "1;2")


def test_a_bracketed_paste_is_one_message(home: Path):
    with Terminal(home, "chat", "-m", script(home, "one")) as screen:
        screen.wait_for_prompt()
        screen.type("\x1b[200~line 1\nline 2\n/quit\n\x1b[201~")
        screen.wait_for("/quit")
        assert logs(home) == [], "nothing is sent before Enter"
        screen.type("\n")
        screen.wait_for("✓")
        screen.wait_for_prompt()
        screen.type("\x04")
        assert screen.end() == 0
    question = recorded(home)[0]["question"]
    assert question.split("\n") == ["line 1", "line 2", "/quit"]


def test_history_is_kept_across_sessions_without_secrets(home: Path):
    key = "sk-proj-" + "a1B2c3D4" * 6
    with Terminal(home, "chat", "-m", script(home, "ok", repeat_last=True)) as screen:
        for line in ("remember me", f"is {key} a key?", "my word is hunter2hunter2"):
            screen.wait_for_prompt()
            screen.forget()
            screen.type(f"{line}\n")
            screen.wait_for("✓")
        screen.wait_for_prompt()
        screen.type("\x04")
        assert screen.end() == 0
    history = home / "state" / "chat_history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert "remember me" in history.read_text()
    assert key not in history.read_text()
    with Terminal(home, "chat", "-m", script(home, "ok")) as screen:
        screen.wait_for_prompt()
        screen.type("\x1b[A\x1b[A")
        screen.wait_for("remember me")
        assert screen.ctrl_c_until_end() == 130


@pytest.mark.parametrize("columns", [44, 100])
def test_nothing_is_wider_than_the_terminal(home: Path, columns: int):
    long = "A **long** answer with words, and a table:\n\n| name | what it is |\n|---|---|\n"
    long += "| librarian | a person who knows where every single book of the house stands |\n"
    model = script(home, call("gate", name="g"), long, name="a-model-with-quite-a-long-name", pace=0.001)
    size = {"columns": columns, "COLUMNS": str(columns)}
    with Terminal(home, "chat", "-m", model, "-t", "mytools:gate,calculator", **size) as screen:  # type: ignore[arg-type]
        screen.wait_for_prompt()
        screen.type("/help\n")
        screen.wait_for("/quit")
        screen.wait_for_prompt()
        screen.type("/tools\n")
        screen.wait_for("calculator: ")
        screen.wait_for_prompt()
        told = screen.text.replace("\r", "\n").splitlines()
        assert max(map(len, told)) <= columns, max(told, key=len)
        screen.type("go\n")
        screen.wait_for("waiting at g")
        open_gate(home, "g")
        screen.wait_for("librarian")
        screen.wait_for("✓")
        screen.wait_for_prompt()
        screen.type("\x04")
        assert screen.end() == 0
    for command in (("runs", "list"), ("runs", "show", "last"), ("runs", "show", "last", "--records"), ("tools",)):
        with Terminal(home, *command, **size) as table:  # type: ignore[arg-type]
            assert table.end() == 0
        lines = table.text.replace("\r", "\n").splitlines()
        assert max(map(len, lines)) <= columns, (command, max(lines, key=len))


def test_a_chat_continues_after_an_error(home: Path):
    model = script(home, {"error": "bad request", "status": 400}, "fine now")
    done = treadle(home, "chat", "-m", model, stdin="one\n/model nonsense\ntwo\n")
    assert done.code == 0
    assert done.out == "fine now\n"
    assert "bad request" in done.err
    assert "'nonsense' names no provider" in done.err
