"""Where memories are kept: one SQLite file, each memory under its user."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kit import go
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


WORDS = {"ship": (1.0, 0.0), "boat": (0.9, 0.1), "vessel": (0.95, 0.05), "bread": (0.0, 1.0)}


class Vectors:
    """An embedder with a name, which counts what it is asked for."""

    def __init__(self, model: str = "by hand") -> None:
        self.model = model
        self.seen: list[str] = []

    def __call__(self, texts: list[str]) -> list[tuple[float, float]]:
        self.seen += texts
        return [next((v for word, v in WORDS.items() if word in text.lower()), (0.5, 0.5)) for text in texts]


def test_a_memory_is_found_by_meaning_where_no_word_is_the_same(tmp_path: Path):
    store = filled(tmp_path, "Bread costs three euros.", "The ship leaves at nine.")
    store.add({"bob": memo("Bob's boat.", "bob")})
    assert store.search("ann", "any vessel?") == []
    vectors = Vectors()
    found = go(store.search_by_meaning("ann", "any vessel?", vectors))
    assert [memo.summary for memo in found] == ["The ship leaves at nine.", "Bread costs three euros."]
    go(store.search_by_meaning("ann", "any boat?", vectors, 1))
    assert vectors.seen.count("The ship leaves at nine.") == 1, "a vector is kept"
    another = Vectors("another model")
    go(store.search_by_meaning("ann", "any boat?", another, 1))
    assert "The ship leaves at nine." in another.seen, "vectors of two models do not compare"
    assert go(store.search_by_meaning("ann", " ", vectors)) == []


def test_who_is_forgotten_leaves_no_vector(tmp_path: Path):
    store = filled(tmp_path, "The ship leaves at nine.")
    go(store.search_by_meaning("ann", "boat", Vectors()))
    store.forget("ann")
    assert go(store.search_by_meaning("ann", "boat", Vectors())) == []
    with closing(sqlite3.connect(store.path)) as db:
        assert db.execute("SELECT count(*) FROM memory_vectors").fetchone() == (0,)


def test_what_is_remembered_can_be_seen_edited_and_forgotten(tmp_path: Path):
    store = filled(tmp_path, "Oslo has rain.", "Paris has sun.")
    store.add({"run7/call_1": memo("Bob likes xylophones.", "bob")})
    assert store.users() == {"ann": 2, "bob": 1}
    (found,) = store.all("bob")
    assert (found.run, found.source) == ("run7", "run7/call_1")
    assert store.get(found.id) == found
    assert store.edit(found.id, "Bob likes drums.")
    assert [m.summary for m in store.search("bob", "drums")] == ["Bob likes drums."]
    assert store.search("bob", "xylophones") == []
    assert b"xylophone" not in store.path.read_bytes()
    assert store.forget_one(found.id)
    assert not store.forget_one(found.id)
    assert not store.edit(found.id, "x")
    assert store.get(found.id) is None
    assert store.users() == {"ann": 2}
    assert store.forget("ann") == 2
    assert b"Oslo" not in store.path.read_bytes()
    assert b"oslo" not in store.path.read_bytes()
    assert store.path.stat().st_mode & 0o777 == 0o600


def test_a_store_that_is_not_there_has_nothing(tmp_path: Path):
    store = MemoryStore(tmp_path / "none.db")
    assert (store.users(), store.get(1), store.forget_one(1), store.edit(1, "x")) == ({}, None, False, False)
    assert not store.path.exists()


def test_page_by_page(tmp_path: Path):
    store = filled(tmp_path, *(f"Memory {number}." for number in range(5)))
    first = store.all("ann", 3)
    assert [memo.summary for memo in first] == ["Memory 4.", "Memory 3.", "Memory 2."]
    assert [memo.summary for memo in store.all("ann", 3, before=first[-1].id)] == ["Memory 1.", "Memory 0."]
