"""Where memories are kept: one SQLite file, each memory under its user."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle._plugins.memory.store import Memo, MemoryStore


def memo(summary: str, user: str = "ann", question: str = "q") -> Memo:
    return Memo(0, user, "agent", question, "a", summary)


def filled(path: Path, *summaries: str, user: str = "ann") -> MemoryStore:
    store = MemoryStore(path / "memory.db")
    store.add({f"{user}/{number}": memo(summary, user) for number, summary in enumerate(summaries)})
    return store


def test_the_store_finds_by_words_within_one_user(tmp_path: Path):
    store = filled(
        tmp_path,
        "The weather in Paris was rainy.",
        "Oslo has 700 000 inhabitants.",
        "Paris has 2.1 million inhabitants.",
    )
    store.add({"bob": memo("Paris is Bob's secret.", "bob")})
    found = [memo.summary for memo in store.search("ann", "How many inhabitants does Paris have?")]
    assert found[0] == "Paris has 2.1 million inhabitants."
    assert set(found) == {
        "Paris has 2.1 million inhabitants.",
        "The weather in Paris was rainy.",
        "Oslo has 700 000 inhabitants.",
    }
    assert [memo.summary for memo in store.search("bob", "Paris")] == ["Paris is Bob's secret."]
    assert store.search("carl", "Paris") == []
    assert len(store.search("ann", "inhabitants Paris", 1)) == 1
    assert [memo.summary for memo in MemoryStore(tmp_path / "memory.db").all("ann", 1)] == [
        "Paris has 2.1 million inhabitants."
    ]


@pytest.mark.parametrize(
    "query",
    ["", "?!", '"', "a OR b NOT (c", "NEAR(x", "'; DROP TABLE memories; --", "*" * 500, "\x00", "word " * 5_000],
    ids=range(9),
)
def test_no_query_breaks_the_store(tmp_path: Path, query: str):
    store = filled(tmp_path, "a fact")
    store.search("ann", query)
    assert len(store.all("ann")) == 1


def test_words_without_blanks_are_found_too(tmp_path: Path):
    store = filled(tmp_path, "东京的人口是一千四百万", "大阪的天气很好")
    assert [memo.summary for memo in store.search("ann", "东京有多少人口？", 1)] == ["东京的人口是一千四百万"]  # noqa: RUF001


def test_nothing_is_remembered_twice_and_a_user_can_be_forgotten(tmp_path: Path):
    store = filled(tmp_path, "one", "two")
    store.add({"ann/0": memo("one again")})
    assert [memo.summary for memo in store.all("ann")] == ["two", "one"]
    store.add({"bob": memo("one", "bob")})
    assert store.forget("ann") == 2
    assert store.all("ann") == store.search("ann", "one") == []
    assert len(store.search("bob", "one")) == 1
    assert MemoryStore(tmp_path / "none" / "memory.db").search("ann", "one") == []
    assert not (tmp_path / "none").exists(), "looking makes no files"


def test_without_a_path_it_is_in_the_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path))
    store = MemoryStore()
    assert store.path == tmp_path / "memory.db"
    store.add({})
    assert store.forget("ann") == 0
    assert not store.path.exists(), "nothing to store makes no file"
