"""Journeys in the terminal: the program as it is installed, on a pseudo-terminal where somebody types."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.terminal import TOOLS, Terminal, call, script, treadle

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
    for words, said in ((("rn",), "did you mean 'run'"), (("runs", "list", "--journal", "no/such/j.db"), "no folder")):
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
    with step("a run is exported, imported into another journal, and shown there"):
        treadle(home, "run", "Which animal?", "-m", script(home, "A zebra."))
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
