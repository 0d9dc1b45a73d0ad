"""`treadle memory`: everybody can see what is remembered about them, change it, and have it forgotten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from treadle._plugins.memory.store import Memo, MemoryStore

Inside = Callable[..., Any]


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
