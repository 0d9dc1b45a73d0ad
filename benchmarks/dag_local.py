"""One question through plan, steps and judgement with a small model on this machine; keeps the log and its picture.

    python benchmarks/dag_local.py qwen2.5-coder-1.5b --into docs

Writes dag_example.jsonl (as `treadle runs export` does) and images/dag_example.svg into the folder.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

import msgspec

from treadle import DagAgent, LocalModel, tool
from treadle._flows.dag.picture import mermaid, svg
from treadle._journal.export import export_run
from treadle._journal.sqlite import SqliteJournal
from treadle._types.errors import RunNotFoundError

RUN = "dag-example"
QUESTION = "Which city has more inhabitants, Oslo or Lyon, and by how many?"
INHABITANTS = {"oslo": 709_037, "lyon": 522_228}


@tool(effect="pure")
async def population(city: str) -> str:
    """How many inhabitants a city has."""
    count = INHABITANTS.get(city.strip().lower())
    return (
        f"{city} has {count} inhabitants."
        if count
        else f"The city {city!r} is not in the table; known are Oslo and Lyon."
    )


@tool(effect="pure")
async def subtract(a: float, b: float) -> str:
    """a minus b."""
    return f"{a - b:.12g}"


async def ask(name: str, into: Path, file: Path, threads: int | None) -> None:
    """Start the run, or resume one that an earlier process has started."""
    journal, model = SqliteJournal(file), LocalModel(name, max_tokens=400, threads=threads)
    dag = DagAgent(model, [population, subtract], journal=journal, max_rounds=2, max_iterations=6, step_timeout=1800)
    try:
        result = await dag.resume(RUN)
    except RunNotFoundError:
        result = await dag.run(QUESTION, run_id=RUN)
    records = await journal.load(RUN)
    (into / "dag_example.jsonl").write_bytes(await export_run(journal, RUN))
    picture = into / "images" / "dag_example.svg"
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_text(svg(records), "utf-8")
    print(mermaid(records), result.answer, result.stop_reason, result.usage, f"{result.elapsed:.0f} s", sep="\n\n")
    print(msgspec.json.format(msgspec.json.encode(result.metadata["dag"])).decode())
    await journal.aclose()
    await model.aclose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?", default="qwen2.5-coder-1.5b")
    parser.add_argument("--into", type=Path, default=Path("docs"))
    parser.add_argument(
        "--journal", type=Path, default=Path("dag_example.db"), help="a run that was killed is resumed from there"
    )
    parser.add_argument("--threads", type=int, help="one is quickest on a machine that is busy")
    given = parser.parse_args()
    asyncio.run(ask(given.model, given.into, given.journal, given.threads))
