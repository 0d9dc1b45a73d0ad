"""The crash matrix for LangGraph: the same job and the same kills as `crash_matrix.py`, with its SQLite checkpointer.

    python benchmarks/crash_langgraph.py         # makes an environment of its own in the cache folder, once

The graph is the documented one (a chat model and a tool node in a loop), compiled with `SqliteSaver` and run with
`durability="sync"`, the strictest mode. Killed runs are resumed as documented: `invoke(None)` with the same thread id.
The second row wraps each effect in a `@task`, which the documentation of durable execution asks for around side
effects. Kills are SIGKILLs of forked processes: in every tool before and after its effect, and after every write of the
checkpointer.
"""

# LangGraph is not one of our dependencies: a type checker does not see it.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

STEPS = 12
KINDS = ("pure", "idempotent", "unsafe")
PACKAGES = ("langgraph", "langgraph-checkpoint-sqlite")
KillIn = tuple[int, str] | None


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def environment() -> Path:
    """The Python of an environment with LangGraph, which is created if it does not exist."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "treadle-benchmarks" / "langgraph"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
        (folder / "ready").touch()
    return python


def effect(effects: Path, kill_in: KillIn, kind: str, n: int) -> str:
    if kill_in == (n, "before"):
        die()
    with effects.open("a") as file:
        file.write(json.dumps([kind, n]) + "\n")
    if kill_in == (n, "after"):
        die()
    return f"{kind[:3]}{n}"


def chat_model() -> Any:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Scripted(BaseChatModel):
        """Its replies depend only on the number of results in the conversation."""

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def _generate(
            self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
        ) -> ChatResult:
            results = [message for message in messages if isinstance(message, ToolMessage)]
            n = len(results)
            if n == STEPS:
                reply = AIMessage("answer: " + ",".join(str(result.content)[:6] for result in results))
            else:
                reply = AIMessage("", tool_calls=[{"name": KINDS[n % 3], "args": {"n": n}, "id": f"c{n}"}])
            return ChatResult(generations=[ChatGeneration(message=reply)])

    return Scripted()


def tools(effects: Path, kill_in: KillIn, *, as_tasks: bool) -> list[Any]:
    from langchain_core.tools import StructuredTool
    from langgraph.func import task

    @task
    def recorded(kind: str, n: int) -> str:
        return effect(effects, kill_in, kind, n)

    def make(kind: str) -> Any:
        def work(n: int) -> str:
            return recorded(kind, n).result() if as_tasks else effect(effects, kill_in, kind, n)

        return StructuredTool.from_function(work, name=kind, description=kind)

    return [make(kind) for kind in KINDS]


def checkpointer(path: Path, after: int) -> Any:
    from langgraph.checkpoint.sqlite import SqliteSaver

    class Dying(SqliteSaver):
        """Kills its process right after the n-th write was stored: a checkpoint, or the writes of a task."""

        left = after

        def put(self, *given: Any, **named: Any) -> Any:
            done = super().put(*given, **named)
            self.count()
            return done

        def put_writes(self, *given: Any, **named: Any) -> None:
            super().put_writes(*given, **named)
            self.count()

        def count(self) -> None:
            self.left -= 1
            if self.left == 0:
                die()

    return Dying(sqlite3.connect(path, check_same_thread=False))


def work(folder: Path, *, as_tasks: bool, after: int = 0, kill_in: KillIn = None) -> None:
    """Start the run, or resume it if it has a checkpoint; the outcome is written to a file."""
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    model = chat_model()
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_node("tools", ToolNode(tools(folder / "effects", kill_in, as_tasks=as_tasks)))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    saver = checkpointer(folder / "checkpoints.db", after)
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "run"}, "recursion_limit": 100}
    begun = saver.get_tuple(config) is not None
    state = graph.invoke(None if begun else {"messages": [("user", "go")]}, config, durability="sync")
    results = [message.content for message in state["messages"] if message.type == "tool"]
    (folder / "outcome").write_text(json.dumps([state["messages"][-1].content, results]))


def run_forked(job: Callable[[], None]) -> bool:
    """Do the job in a forked process; False if it was killed."""
    pid = os.fork()
    if pid == 0:
        try:
            job()
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return not os.WIFSIGNALED(status)


def outcome(folder: Path) -> Any:
    file = folder / "outcome"
    return json.loads(file.read_text()) if file.exists() else None


def matrix(*, as_tasks: bool) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as name:
        run_forked(lambda: work(Path(name), as_tasks=as_tasks))
        expected = outcome(Path(name))
    assert expected is not None, "the run without a kill did not end"
    assert len(expected[1]) == STEPS
    counts: Counter[str] = Counter()
    kills: list[dict[str, Any]] = [{"kill_in": (n, when)} for n in range(STEPS) for when in ("before", "after")]
    after = 1
    while True:
        how = kills.pop(0) if kills else {"after": after}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if run_forked(lambda: work(folder, as_tasks=as_tasks, **how)):  # noqa: B023 - called at once
                break  # it was not killed: all instants have been tried
            counts["kills"] += 1
            after += "after" in how
            run_forked(lambda: work(folder, as_tasks=as_tasks))  # noqa: B023 - called at once
            counts["lost"] += outcome(folder) != expected
            done = Counter(tuple(json.loads(line)) for line in (folder / "effects").read_text().splitlines())
            counts["doubled"] += sum(count - 1 for (kind, _), count in done.items() if kind == "unsafe")
            counts["repeated"] += sum(count - 1 for count in done.values())
    return dict(counts)


def measure() -> None:
    import langgraph.prebuilt  # noqa: F401 - imported before the forks, so that each of them need not

    print("Python " + sys.version.split()[0], *(f"{name} {version(name)}" for name in PACKAGES), sep=", ", end="\n\n")
    print("| tools | kills tried | runs lost | unsafe effects doubled | effects of any kind repeated |")
    print("|---|---|---|---|---|")
    for label, as_tasks in (("plain tool functions", False), ("each effect in a `@task`", True)):
        counts = matrix(as_tasks=as_tasks)
        print(
            f"| {label} | {counts['kills']} | {counts['lost']} | {counts['doubled']} | {counts['repeated']} |",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:] == ["--inside"]:
        measure()
    else:
        sys.exit(subprocess.run([environment(), __file__, "--inside"]).returncode)
