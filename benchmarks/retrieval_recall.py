"""How many of the pages a question needs are among the first five: full-text search alone, and together with vectors.

python benchmarks/retrieval_recall.py FOLDER     # with tasks.json and wiki.json of HotpotQA
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

from treadle import KnowledgeBase
from treadle._models.minilm.embeddings import LocalEmbeddings

K = 5


async def main(folder: Path) -> None:
    tasks = json.loads((folder / "tasks.json").read_text("utf-8"))
    wiki = json.loads((folder / "wiki.json").read_text("utf-8"))
    with tempfile.TemporaryDirectory() as place:
        base = KnowledgeBase(Path(place) / "kb.db")
        for title, sentences in wiki.items():
            base.add(f"# {title}\n\n{''.join(sentences)}", name=title)
        embedder = LocalEmbeddings()
        began = time.perf_counter()
        chunks = await base.embed(embedder)
        print(f"{len(wiki)} pages, {chunks} chunks embedded in {time.perf_counter() - began:.0f} s")
        vectors = await embedder([task["question"] for task in tasks])
        for label, use in (("full text", False), ("full text and vectors", True)):
            found = both = 0.0
            for task, vector in zip(tasks, vectors, strict=True):
                hits = {chunk.document for chunk in base.search(task["question"], K, vector=vector if use else None)}
                part = sum(title in hits for title in task["gold_titles"]) / len(task["gold_titles"])
                found, both = found + part, both + (part == 1)
            print(f"{label:24} recall@{K} {found / len(tasks):.3f}   all pages found {both / len(tasks):.2f}")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
