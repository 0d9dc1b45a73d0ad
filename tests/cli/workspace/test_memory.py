"""`treadle memory`: everybody can see what is remembered about them, change it, and have it forgotten."""

from __future__ import annotations

from pathlib import Path

from cli.terminal import Inside, Terminal, script, treadle
from treadle._plugins.memory.store import Memo, MemoryStore


def test_seen_edited_and_forgotten(home: Path, inside: Inside):
    assert inside("memory", "list").out == "nothing is remembered\n"
    store = MemoryStore(home / "state" / "memory.db")
    store.add({
        "run7abcdef/call_1": Memo(0, "ann", "helper", "Where?", "Oslo.", "Ann lives in \x1b[31mOslo."),
        "run8/call_1": Memo(0, "ann", "helper", "What?", "Tea.", "Ann drinks tea."),
        "run9/call_1": Memo(0, "bob", "helper", "Who?", "Bob.", "Bob is Bob."),
    })  # fmt: skip
    listed = inside("memory", "list").out
    assert "run7abcd" in listed
    assert "Ann lives in Oslo." in listed
    assert "Bob is Bob." not in inside("memory", "list", "--user", "ann").out
    assert "and 1 memory that is older" in inside("memory", "list", "--user", "ann", "-n", "1").out
    shown = inside("memory", "show", "1").out
    assert "from run    run7abcdef, call call_1" in shown
    assert "treadle runs show run7abcd" in shown
    assert inside("memory", "edit", "1", "Ann lives in Bergen.").code == 0
    assert [memo.summary for memo in store.search("ann", "Bergen")] == ["Ann lives in Bergen."]
    assert inside("memory", "edit", "1", " ").code == 2
    assert inside("memory", "forget", "1", "99").code == 2
    assert store.get(1) is not None, "all or nothing"
    assert inside("memory", "forget", "1").code == 0
    assert inside("memory", "forget", "--user", "ann").out == "forgotten: 1 memory about ann\n"
    assert inside("memory", "forget").code == 2
    assert inside("memory", "show", "1").code == 2
    assert store.users() == {"bob": 1}
    assert inside("memory", "list", "--user", "ann").out == "nothing is remembered about ann\n"


def test_another_file(home: Path, inside: Inside):
    MemoryStore(home / "other.db").add({"r/c": Memo(0, "eve", "a", "q", "a", "Eve hums.")})
    assert "Eve hums." in inside("memory", "--memory", "other.db", "list").out


def remembered(home: Path) -> MemoryStore:
    store = MemoryStore(home / "state" / "memory.db")
    store.add({f"run{n}/c": Memo(0, "ann", "helper", "Where?", "Oslo.", f"Ann was in Oslo {n} times.") for n in (1, 2)})
    return store


def test_in_a_chat(home: Path):
    store = remembered(home)
    lines = ("/memory", "/memory show 1", "/memory edit 1 Ann was in Bergen.", "/memory forget 2", "/memory forget x")
    done = treadle(home, "chat", "-m", script(home, "one"), stdin="\n".join(lines) + "\n")
    assert "Ann was in Oslo 2 times." in done.out
    assert "from run    run1, call c" in done.out
    assert "memory 1 is changed" in done.out
    assert "/memory forget NUMBER" in done.err
    assert [memo.summary for memo in store.all("ann")] == ["Ann was in Bergen."]


def test_forgetting_is_asked_about_at_a_terminal(home: Path):
    store = remembered(home)
    with Terminal(home, "memory", "forget", "1") as terminal:
        terminal.wait_for("forget 1 memory for good?")
        terminal.type("show\r")
        terminal.wait_for("Ann was in Oslo 1 times.")
        terminal.type("no\r")
        terminal.wait_for("nothing is forgotten")
    assert store.users() == {"ann": 2}
    with Terminal(home, "memory", "forget", "--user", "ann") as terminal:
        terminal.wait_for("forget 2 memories about ann for good?")
        terminal.type("yes\r")
        terminal.wait_for("forgotten: 2 memories about ann")
    assert store.users() == {}
    remembered(home)
    with Terminal(home, "memory", "forget", "--yes", "--user", "ann") as terminal:
        terminal.wait_for("forgotten: 2 memories about ann")
    assert store.users() == {}
