"""How well the preset `research` keeps to its sources, on HotpotQA's questions over its pages.

    python benchmarks/research_sources.py FOLDER                       # tasks.json and wiki.json
    python benchmarks/research_sources.py FOLDER --model local:qwen2.5-coder-1.5b --questions 3

The check: sentences of pages with the page as their source (true), with the wrong page as their only source, and with
another number or name; what of it stays in the answer with that citation. The whole: each question is looked up in a
knowledge base of all pages; without `--model` a script in place of the model searches for the question and for the
titles it found, and copies the sentences that share most words with the question. Whether the accepted answer is in
what was written says how far copying gets, not how good a model is; that every citation that is left supports its
sentence is checked again from the log.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from pathlib import Path
from typing import Any

from treadle import Agent, KnowledgeBase, ScriptedModel, builtin
from treadle._plugins.evidence.support import support_of
from treadle._plugins.evidence.words import sentences, words_of
from treadle._plugins.memory.citations import chunks_in
from treadle._plugins.research.sources import Sources, checked_answer
from treadle._types.messages import text_of

PAGES = 300


def variants(sentence: str, other: str, rng: random.Random) -> dict[str, str]:
    """The sentence with another number or another name of the other page."""
    changed: dict[str, str] = {}
    if numbers := re.findall(r"\b\d{2,}\b", sentence):
        number = rng.choice(numbers)
        changed["number"] = sentence.replace(number, str(int(number) + rng.choice((1, 7, 13))), 1)
    names = [name for name in words_of(sentence).names if name.isalpha()]
    strange = [name for name in words_of(other).names if name not in sentence and name.isalpha()]
    if names and strange:
        changed["name"] = re.sub(rf"\b{re.escape(rng.choice(names))}\b", rng.choice(strange), sentence, count=1)
    return {kind: text for kind, text in changed.items() if text != sentence}


def check(wiki: dict[str, list[str]]) -> None:
    rng = random.Random(11)
    titles = [title for title in sorted(wiki) if len(" ".join(wiki[title]).split()) >= 12]
    counts = {"true sentence kept": [0, 0], "wrong source kept": [0, 0], "changed number or name kept": [0, 0]}
    for title in rng.sample(titles, k=min(PAGES, len(titles))):
        wrong = rng.choice([other for other in titles if other != title])
        texts = {1: (title, " ".join(wiki[title])), 2: (wrong, " ".join(wiki[wrong]))}
        sentence = rng.choice([one for one in wiki[title] if one.strip()]).strip()
        parts = sentences(sentence)
        if len(parts) != 1 or not words_of(sentence).content:
            continue
        body = sentence.rstrip(".")
        _count(counts["true sentence kept"], kept(f"{body} [ID:1].", texts, 1))
        _count(counts["wrong source kept"], kept(f"{body} [ID:2].", {2: texts[2]}, 2))
        for changed in variants(sentence, " ".join(wiki[wrong]), rng).values():
            _count(counts["changed number or name kept"], kept(f"{changed.rstrip('.')} [ID:1].", texts, 1))
    for kind, (hits, total) in counts.items():
        print(f"{kind:28} {hits:4} of {total:4}")


def kept(answer: str, texts: dict[int, tuple[str, str]], number: int) -> bool:
    return any(number in one.cited for one in checked_answer(answer, Sources(texts)).sentences)


def _count(pair: list[int], hit: bool) -> None:
    pair[0] += hit
    pair[1] += 1


class Copyist:
    """In place of a model: it searches, notes nothing, and copies."""

    def __init__(self, question: str) -> None:
        self.question = question
        self.asked: list[str] = []

    def __call__(self, request: Any) -> Any:
        if request.component == "research":
            return json.dumps({"questions": [self.question]})
        found = [chunk for m in request.messages if m.role == "tool" for chunk in chunks_in(text_of(m.content))]
        wanted = [self.question, *(chunk.document for chunk in found if chunk.document in self.question), *
                  (_names(self.question)[:2])]  # fmt: skip
        query = next((one for one in wanted if one not in self.asked), None)
        if query is not None and len(self.asked) < 4:
            self.asked.append(query)
            return {"name": "retrieval", "args": {"query": query}}
        about = words_of(self.question).content
        pieces = {(one.text, chunk.id) for chunk in found for one in sentences(chunk.text)}
        best = sorted(pieces, key=lambda piece: (-len(words_of(piece[0]).content & about), piece))[:6]
        return " ".join(f"{text.rstrip('.')} [ID:{number}]." for text, number in best) or "I found nothing."


def _names(question: str) -> list[str]:
    return re.findall(r"[A-Z][\w'.]+(?: [A-Z][\w'.]+)+", question)


def whole(wiki: dict[str, list[str]], tasks: list[dict[str, Any]], model: str, number: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = KnowledgeBase(Path(folder) / "wiki.db")
        for title, lines in wiki.items():
            base.add(f"{title}\n\n{' '.join(lines)}", name=title)
        told = {"citations": 0, "unsupported": 0, "sentences": 0, "marked": 0, "answers": 0, "removed": 0}
        for task in tasks[:number]:
            tools = [builtin("retrieval", path=base.path, about="an encyclopedia", k=6)]
            agent = Agent(model or ScriptedModel(Copyist(task["question"])), tools, preset="research")
            result = agent.run_sync(task["question"])
            report = result.metadata["reports"].get("research", {})
            texts = {
                chunk.id: (chunk.document, chunk.text) for step in result.steps for chunk in chunks_in(step.observation)
            }
            for one in sentences(result.answer):
                text = re.sub(r"\s*\[(?:ID:[^\]]*|no source)\]", "", one.text)
                ids = [int(number) for number in one.cited]
                told["citations"] += len(ids)
                told["unsupported"] += bool(ids) and bool(support_of(text, [texts[n] for n in ids if n in texts]))
            told["sentences"] += report.get("sentences", 0)
            told["marked"] += len(report.get("unsupported", ()))
            told["removed"] += len(report.get("removed", ()))
            told["answers"] += _plain(task["answer"]) in _plain(result.answer)
            if model:
                print(f"- {task['question']}\n  {result.answer}\n  accepted: {task['answer']}; {result.stop_reason}, "
                      f"{result.iterations} iterations, {result.elapsed:.0f} s", flush=True)  # fmt: skip
        total = len(tasks[:number])
        print(f"{total} questions by {model or 'copying'}: {told['sentences']} sentences, {told['citations']} cited, "
              f"{told['unsupported']} sentences that their citations do not support, {told['marked']} marked, "
              f"{told['removed']} citations removed; the accepted answer is in {told['answers']}")  # fmt: skip


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="")
    parser.add_argument("--questions", type=int, default=100)
    given = parser.parse_args()
    wiki: dict[str, list[str]] = json.loads((given.folder / "wiki.json").read_text("utf-8"))
    tasks: list[dict[str, Any]] = json.loads((given.folder / "tasks.json").read_text("utf-8"))
    if not given.model:
        check(wiki)
    whole(wiki, tasks, given.model, given.questions)


if __name__ == "__main__":
    main()
