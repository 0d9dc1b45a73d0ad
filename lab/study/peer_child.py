"""Runs inside a peer's own environment: reads tasks, or rows of the leaderboard, from standard input, one a line, and
reports their outcomes.

    python -m study.peer_child smolagents qwen2.5-coder-0.5b http://127.0.0.1:8080 "instructions"

A peer is a module `peer_NAME` with `async def answer(case) -> tuple[str, str]`: the answer, and why the run ended.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec

from study.peer_kit import Case
from study.rows import FIRST_STEPS, Outcome, recorded
from study.worlds import TOOLS
from training import bfcl
from treadle._inspect.evals.checks import RecordedCall
from treadle._inspect.evals.tasks import Task, task_set
from treadle._tools.base import Tool


def usage_of(body: Any) -> tuple[int, int, int] | None:
    """Tokens read, cached and written, as llama.cpp's server reports them."""
    usage: Any = body.get("usage") if isinstance(body, dict) else None
    if not usage:
        return None
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", body.get("timings", {}).get("cache_n", 0))
    return usage["prompt_tokens"], cached, usage["completion_tokens"]


def functions_of(row: bfcl.Row, on_call: Callable[[RecordedCall], None]) -> list[Tool]:
    """The functions of a row as tools that report their calls and do nothing else."""

    def reporting(tool: Tool) -> Tool:
        def execute(**args: Any) -> str:
            on_call(RecordedCall(tool.name, args))
            return "done"

        return tool.replace(execute=execute)

    return [reporting(tool) for tool in bfcl.tools_of(row)]


def main(arguments: Sequence[str]) -> None:
    who, model, address, instructions = arguments
    # What the engines print must not mix with the reports.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    encoder = msgspec.json.Encoder()

    def send(**message: Any) -> None:
        out.write(encoder.encode(message) + b"\n")
        out.flush()

    def on_response(body: Any) -> None:
        if (spent := usage_of(body)) is not None:
            send(round=spent)

    peer = importlib.import_module(f"study.peer_{who}")
    send(ready=True)
    for line in sys.stdin.buffer:
        task = msgspec.json.decode(line, type=Task | bfcl.Row)
        if isinstance(task, Task):
            tools = task_set("study", [task], TOOLS).make_tools(task)
            recording = [recorded(tool, lambda call: send(call=call)) for tool in tools]
            case = Case(model, f"{address}/v1", instructions, task.question, recording, on_response)
        else:
            tools = functions_of(task, lambda call: send(call=call))
            case = Case(model, f"{address}/v1", task.system, task.question, tools, on_response, FIRST_STEPS, True)
        send(done=_attempt(peer.answer, case))


def _attempt(answer: Callable[[Case], Coroutine[Any, Any, tuple[str, str]]], case: Case) -> Outcome:
    begun = time.monotonic()
    try:
        text, stop = asyncio.run(answer(case))
    except Exception as failure:
        return Outcome(stop="error", error=f"{type(failure).__name__}: {failure}", seconds=time.monotonic() - begun)
    error = "" if text or stop == "answer" else f"no answer: {stop}"
    return Outcome(text, stop, error, seconds=time.monotonic() - begun)


if __name__ == "__main__":
    main(sys.argv[1:])
