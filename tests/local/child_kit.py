"""Child processes that run a local model."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from local.local_kit import SECONDS, short
from processes import interruptible
from treadle._local.weights import weights

SOURCE = Path(weights.__file__).parents[3]


HEAD = """
import asyncio, os, sys, threading, time
from treadle._models.base import complete
from treadle._local.model import LocalModel
from treadle._types.errors import ModelError
from treadle._types.messages import UserMessage
from treadle._types.request import Request
model = LocalModel(sys.argv[1], n_ctx=512, slots=1)
def ask(text, **more): return Request([UserMessage(text)], **more)
async def begin():
    stream = model.stream(ask("Tell me a long story.", stream=True, max_tokens=400))
    await anext(stream)
    print("begun", flush=True)
    return stream
"""


def start(code: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", HEAD + textwrap.dedent(code), short()]
    with interruptible():
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str], within: float = SECONDS) -> tuple[int, str]:
    try:
        out, errors = process.communicate(timeout=within)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert "Fatal" not in errors, errors
    assert "terminate" not in errors, errors
    return process.returncode, out
