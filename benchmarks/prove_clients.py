"""The clients of other engines against our server, each with its own defaults: one table, made by running them.

    python benchmarks/prove_clients.py                       # all of benchmarks/clients, into docs/clients.md
    python benchmarks/prove_clients.py langchain_python ...  # some of them, printed

A Python program names its packages in its head and is run by uv, one in JavaScript imports those of package.json; both
are installed into a cache. The model is a script that answers by what it is asked.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from treadle import Agent, RetryPolicy, ScriptedModel, ServerSettings, make_server, tool
from treadle._types.errors import RequestRefusedError, TransientModelError
from treadle._types.messages import ImagePart, ToolMessage, UserMessage, text_of
from treadle._types.request import Reply, Request, StreamPart

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "clients"
PAGE = HERE.parent / "docs" / "clients.md"
TOKEN = "a-token-of-some-length"
CELLS = {
    "answer": "tool of the agent",
    "stream": "stream",
    "client_tool": "tool of the client",
    "parallel": "two at once",
    "typed": "typed output",
    "image": "image",
    "error": "error",
    "retry": "retry",
    "abort": "abort",
}


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Worker(ScriptedModel):
    """Answers by the words of the question, with the tools that it is offered."""

    def __init__(self) -> None:
        super().__init__(self.reply, chunk=4, abilities={"vision": True})
        self.left = 0
        """How often a slow answer was stopped."""
        self._failed = False

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        slow = "Slowly" in asked(request)[0]
        try:
            async for part in super().stream(request):
                yield part
                if slow and not isinstance(part, Reply):
                    await asyncio.sleep(20)  # nobody waits for it: who asks leaves
        except (asyncio.CancelledError, GeneratorExit):
            self.left += slow
            raise

    def reply(self, request: Request) -> Any:
        question, results, pictures = asked(request)
        if "broken" in question:
            raise RequestRefusedError("this cannot be done", status=400)
        self._failed = "Flaky" in question and not results and not self._failed
        if self._failed:
            raise TransientModelError("try again", status=503)
        names = [schema.name for schema in request.tools]
        theirs = [name for name in names if name not in ("add", "look", "final_answer")]
        if "as data" in question:
            if theirs and not results:
                return {"name": theirs[-1], "args": {"total": 5}}
            return self._said('{"total": 5}', names)
        if "look" in question.lower() and "look" in names:
            calls = [{"name": "look", "args": {"where": "left"}}, {"name": "look", "args": {"where": "right"}}]
            if not results:
                return calls if "both" in question else calls[:1]
            return self._said(f"I see {' and '.join(results)}.", names)
        if "picture" in question:
            return self._said("I see a picture." if pictures else "I see nothing.", names)
        if results or "Slowly" in question:
            return self._said("It is 5.", names)
        return {"name": "add", "args": {"a": 2, "b": 3}}

    def _said(self, text: str, names: list[str]) -> Any:
        """Some engines take an answer by a tool of theirs."""
        return {"name": "final_answer", "args": {"answer": text}} if "final_answer" in names else text


def asked(request: Request) -> tuple[str, list[str], int]:
    """The last question, the results since, and how many pictures came with it. smolagents gives results as text."""
    told = [text_of(m.content) for m in request.messages if isinstance(m, UserMessage)]
    seen = [text.removeprefix("Observation:\n") for text in told if text.startswith("Observation:\n")]
    if seen:
        return told[0], seen[0].split("\n"), 0
    asking = [(n, m) for n, m in enumerate(request.messages) if isinstance(m, UserMessage) and m.kind == "question"]
    at, question = asking[-1]
    results = [text_of(message.content) for message in request.messages[at:] if isinstance(message, ToolMessage)]
    parts = question.content if not isinstance(question.content, str) else ()
    return text_of(question.content), results, sum(isinstance(part, ImagePart) for part in parts)


def installed_from_npm() -> Path:
    """A folder with the packages of package.json, and the programs beside them."""
    folder = Path.home() / ".cache" / "treadle-clients" / "npm"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = PROGRAMS / "package.json"
    if not (folder / "package.json").exists() or (folder / "package.json").read_bytes() != wanted.read_bytes():
        shutil.copy(wanted, folder)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder, check=True)
    for program in PROGRAMS.glob("*.mjs"):
        shutil.copy(program, folder)
    return folder


def results_of(program: Path, address: str, worker: Worker) -> list[list[str]]:
    """What a program says of its cells: client, versions, cell, and `yes` or what went wrong."""
    left = worker.left
    if program.suffix == ".mjs":
        command = ["node", str(installed_from_npm() / program.name)]
    else:
        command = [sys.executable, "-m", "uv", "run", "--quiet", "--no-project", "--script", str(program)]
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([*command, address, TOKEN], capture_output=True, text=True, timeout=600, env=env)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    if done.returncode or not rows:
        rows.append([program.stem, "", "answer", f"the program failed: {done.stderr.strip()[-800:]}"])
    stopped = [row for row in rows if row[2] == "abort" and row[3] == "yes"]
    for _ in range(100):  # the server notices that its client has gone
        if worker.left >= left + len(stopped):
            break
        threading.Event().wait(0.1)
    for row in stopped[worker.left - left :]:
        row[3] = "the client left, and its run went on"
    return rows


def table(rows: list[list[str]]) -> str:
    clients = dict.fromkeys((row[0], row[1]) for row in rows)
    found = {(row[0], row[2]): row[3] == "yes" for row in rows}
    lines: list[str] = []
    for client, versions in clients:
        passed = sum(found.get((client, cell), False) for cell in CELLS)
        failed = ", ".join(name for cell, name in CELLS.items() if found.get((client, cell)) is False)
        lacking = ", ".join(name for cell, name in CELLS.items() if (client, cell) not in found)
        more = [f"failed: {failed}"] * bool(failed) + [f"it has no {lacking}"] * bool(lacking)
        lines.append(f"- {client} ({versions}): {'; '.join([str(passed), *more])}")
    return "\n".join(lines)


def main(names: list[str]) -> int:
    programs = [one for one in sorted(PROGRAMS.glob("*_*.*")) if one.suffix in (".py", ".mjs")]
    worker = Worker()
    agent = Agent(worker, [add], retry=RetryPolicy(attempts=1))
    ready = threading.Event()
    server = make_server(
        {"worker": agent},
        "memory:",
        port=0,
        tokens={TOKEN: "ann"},
        settings=ServerSettings(requests_per_second=10_000, request_burst=10_000, grace=0.1),
        on_ready=lambda _: ready.set(),
    )
    threading.Thread(target=server.run, daemon=True).start()
    ready.wait(60)
    rows: list[list[str]] = []
    for program in programs:
        if not names or program.stem in names:
            rows += results_of(program, server.address, worker)
    server.should_exit = True
    text = table(rows)
    print(text)
    for client, _, cell, said in rows:
        if said != "yes":
            print(f"\n{client}, {cell}: {said}", file=sys.stderr)
    if not names:
        head, _, _ = PAGE.read_text("utf-8").partition("<!-- made by")
        made = f"<!-- made by python3 tasks.py prove clients -->\n\nMade on {datetime.date.today()}.\n\n"
        PAGE.write_text(f"{head}{made}{text}\n", "utf-8")
    return any(row[3] != "yes" for row in rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
