"""A knowledge base: what is added can be found, with its position in the document; and the tool that searches it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from kit import row
from tools.builtin.loopback import use
from tools.builtin.pdf_file import make_pdf
from treadle._tools.builtin.knowledge.retrieval import Chunk, KnowledgeBase, Retrieved, retrieval
from treadle._types.errors import ToolError

FABLE = """# The tortoise and the hare

A hare laughed at a slow tortoise. They agreed to race through the forest, and a fox measured the course.

## The race

The hare ran ahead and lay down to sleep beneath an oak.

The tortoise never stopped. Perseverance carried it over the finishing line first.

## Moral

Slow and steady wins.
"""


@pytest.fixture
def base(tmp_path: Path) -> KnowledgeBase:
    return KnowledgeBase(tmp_path / "kb" / "base.db", chunk_chars=200, overlap=80)


def test_add_and_search(base: KnowledgeBase):
    (document,) = base.add(FABLE, name="fable.md")
    assert (document.name, document.title, document.changed) == ("fable.md", "fable.md", True)
    assert document.chunks > 2
    best = base.search("who persevered to the finish line?")[0]
    assert "Perseverance" in best.text
    assert (best.document, best.heading) == ("fable.md", "The tortoise and the hare > The race")
    assert best.score > 0
    assert FABLE[best.start : best.end] == best.text
    assert base.chunk(best.id) == msgspec.structs.replace(best, score=0.0)
    assert base.chunk(999) is None


def test_positions_count_the_chunks_of_a_document(base: KnowledgeBase):
    base.add(FABLE, name="a")
    base.add(FABLE.replace("hare", "rabbit"), name="b")
    chunks = base.search("tortoise hare rabbit race moral slow steady oak fox", k=50)
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    for name in ("a", "b"):
        positions = sorted(chunk.position for chunk in chunks if chunk.document == name)
        assert positions == list(range(len(positions)))


def test_ids_are_stable_and_never_used_again(base: KnowledgeBase):
    base.add(FABLE, name="fable")
    before = {chunk.id: chunk.text for chunk in base.search("tortoise hare moral", k=50)}
    assert base.add(FABLE, name="fable")[0].changed is False
    assert {chunk.id: chunk.text for chunk in base.search("tortoise hare moral", k=50)} == before
    assert base.add(FABLE + "\nAnd a new line about a snail.", name="fable")[0].changed is True
    after = base.search("tortoise hare moral snail", k=50)
    assert not {chunk.id for chunk in after} & set(before)
    assert any("snail" in chunk.text for chunk in after)
    assert [document.name for document in base.documents()] == ["fable"]


def test_many_texts_at_once_and_what_was_added_since_the_last_search(base: KnowledgeBase):
    names = [f"note {number}" for number in range(600)]
    assert [document.name for document in base.add({name: f"The text of {name}." for name in names})] == names
    other = KnowledgeBase(base.path)

    def axis(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] if "zebra" in text else [0.1, 1.0] for text in texts]

    asyncio.run(base.embed(axis, batch=600))
    assert "zebra" not in base.search("nothing", vector=[1.0, 0.0])[0].text
    other.add({"late": "A zebra."})
    asyncio.run(other.embed(axis))
    best = base.search("nothing", vector=[1.0, 0.0])[0]
    assert best.document == "late"
    assert best.score > base.search("nothing", vector=[1.0, 0.0])[1].score
    with pytest.raises(ToolError, match="leave `name` out"):
        base.add({"a": "b"}, name="c")


def test_remove(base: KnowledgeBase):
    base.add(FABLE, name="fable")
    assert base.remove("fable")
    assert not base.remove("fable")
    assert base.search("tortoise") == []
    assert base.documents() == []


def test_files_of_all_kinds(base: KnowledgeBase, tmp_path: Path):
    pytest.importorskip("pypdf")
    folder = tmp_path / "docs"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.md").write_text("# Apples\n\nApples are red.")
    (folder / "deep" / "b.html").write_text(
        "<title>Bananas</title><script>var x = 'poison'</script><main><p>Bananas are yellow and bent.</p></main>"
    )
    (folder / "c.txt").write_bytes("Gr\u00fcne Gurken".encode("utf-16"))
    (folder / "d.pdf").write_bytes(make_pdf(["Dates grow on palms", "Figs grow on trees"]))
    (folder / "picture.png").write_bytes(b"\x89PNG\0")
    assert [Path(document.name).name for document in base.add(folder)] == ["a.md", "c.txt", "d.pdf", "b.html"]
    assert base.search("bananas bent")[0].document.endswith("b.html")
    assert base.search("grune gurke")[0].text == "Gr\u00fcne Gurken"
    figs = base.search("figs")[0]
    assert (figs.document.endswith("d.pdf"), "Figs" in figs.text) == (True, True)
    assert base.search("poison") == []
    (folder / "broken.pdf").write_bytes(b"%PDF nonsense")
    problems = {Path(document.name).name: document.problem for document in base.add(folder) if document.problem}
    assert problems.keys() == {"broken.pdf"}, "one bad file does not keep the others out"
    (single,) = base.add(folder / "a.md", name="apples")
    assert (single.name, single.title) == ("apples", "Apples")


def test_pdf_pages_are_known(tmp_path: Path):
    pytest.importorskip("pypdf")
    (tmp_path / "long.pdf").write_bytes(make_pdf([f"Page {n} " + "word " * 20 + f"unique{n}x" for n in range(1, 6)]))
    base = KnowledgeBase(tmp_path / "kb.db", chunk_chars=120, overlap=0)
    base.add(tmp_path / "long.pdf")
    assert base.search("unique4x")[0].page == 4


def test_what_cannot_be_added_is_reported(base: KnowledgeBase, tmp_path: Path):
    with pytest.raises(ToolError, match="there is no"):
        base.add(tmp_path / "nothing.txt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ToolError, match="contains no"):
        base.add(tmp_path / "empty")
    (tmp_path / "x.txt").write_bytes(b"\0\1\2")
    with pytest.raises(ToolError, match="is not a text file"):
        base.add(tmp_path / "x.txt")
    (tmp_path / "x.pdf").write_bytes(b"%PDF-1.4 nonsense")
    with pytest.raises(ToolError, match="PDF cannot be read"):
        base.add(tmp_path / "x.pdf")
    (tmp_path / "broken.db").write_text("this is no database at all, but a text that is long enough")
    with pytest.raises(ToolError, match="cannot be used"):
        KnowledgeBase(tmp_path / "broken.db").search("x")


def test_any_query_is_only_words(base: KnowledgeBase):
    for query in (
        "",
        "???",
        '"',
        "a AND",
        "NOT",
        "col:x",
        "x*",
        "NEAR(a b)",
        "a' OR '1'='1",
        "(",
        "-x",
        "tortoise OR",
        "\0",
        "^x",
        "{heading}: x",
        "x" * 5000,
        "word " * 500,
    ):
        with row(query):
            base.add(FABLE, name="fable")
            assert isinstance(base.search(query), list)


def test_chinese_and_japanese_words_are_found(base: KnowledgeBase):
    base.add("乌龟和兔子赛跑。乌龟慢慢地走\uff0c最后赢得了比赛。", name="zh")
    base.add("人工智能正在改变世界。", name="ai")
    base.add("ウサギとカメの競走", name="ja")
    assert base.search("乌龟赢了吗")[0].document == "zh"
    assert base.search("什么是人工智能?")[0].document == "ai"
    assert base.search("カメ")[0].document == "ja"


def toy_embedder(texts: list[str]) -> Sequence[Sequence[float]]:
    """Three meanings: animals, fruit, machines."""
    groups = (("tortoise", "hare", "animal", "creature"), ("apple", "fruit", "pear"), ("engine", "machine", "motor"))
    return [[float(sum(word in text.lower() for word in group)) + 0.01 for group in groups] for text in texts]


def test_meaning_finds_what_words_do_not(base: KnowledgeBase):
    for name, text in (("t", "The tortoise is slow."), ("a", "An apple a day."), ("e", "The engine roars.")):
        base.add(text, name=name)
    assert base.search("creature") == []
    assert asyncio.run(base.embed(toy_embedder, batch=2)) == 3
    assert asyncio.run(base.embed(toy_embedder)) == 0
    (vector,) = toy_embedder(["creature"])
    assert base.search("creature", vector=vector)[0].document == "t"
    assert [chunk.document for chunk in base.search("apple", k=1, vector=vector)] in (["a"], ["t"])


def test_many_threads_at_once(base: KnowledgeBase):
    errors: list[Exception] = []

    def work(n: int) -> None:
        try:
            for m in range(5):
                base.add(f"Document {n} {m} about tortoises.", name=f"{n}-{m}")
                assert base.search("tortoises")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(base.documents()) == 30


def test_chunk_values_are_small():
    assert msgspec.json.encode(Chunk(1, "d", 0, "t")) == b'{"id":1,"document":"d","position":0,"text":"t"}'


def test_the_tool(base: KnowledgeBase):
    base.add(FABLE, name="fable.md")
    tool = retrieval(base.path, k=2, about="fables")
    assert "fables" in tool.description
    result = asyncio.run(use(tool, query="perseverance"))
    assert isinstance(result, Retrieved)
    (shown, *_) = msgspec.json.decode(msgspec.json.encode(result))["chunks"]
    assert {"id", "document", "position", "text", "score"} <= shown.keys()


def test_the_tool_embeds_sync_or_async(base: KnowledgeBase):
    base.add("The tortoise is slow.", name="t")
    base.add("An apple a day.", name="a")

    async def later(texts: list[str]) -> Sequence[Sequence[float]]:
        await asyncio.sleep(0)
        return toy_embedder(texts)

    for embedder in (toy_embedder, later):
        result = asyncio.run(use(retrieval(base.path, embed=embedder), query="creature"))
        assert result.chunks[0].document == "t"


def test_an_embedder_that_miscounts(base: KnowledgeBase):
    base.add(FABLE, name="fable")
    with pytest.raises(ToolError, match="0 vectors"):
        asyncio.run(base.embed(lambda texts: []))


def test_a_knowledge_base_that_is_not_there(tmp_path: Path):
    with pytest.raises(ToolError, match="treadle kb add"):
        asyncio.run(use(retrieval(tmp_path / "none.db"), query="x"))
    assert not (tmp_path / "none.db").exists()
