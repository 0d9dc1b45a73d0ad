"""Exports of Langfuse and LangSmith become runs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kit import go
from record.imports.test_files import check, states
from treadle import ConfigError

ROOT = Path(__file__).resolve().parents[3]
PEERS = ROOT / ".venv" / "peers" / "bin" / "python"
STORED: dict[str, Any] = json.loads((ROOT / "tests" / "data" / "imports" / "observations.json").read_text("utf-8"))
"""What `exports_program.py` printed, without the fields that are empty."""


def check_export(document: Any) -> None:
    (state,) = go(states(document, "export.json"))
    check(state)
    assert [tool.name for tool in state.tools] == ["price"]
    assert state.usage.input_tokens == 200


@pytest.mark.parametrize("name", STORED)
def test_an_export_is_a_run(name: str):
    check_export(STORED[name])


@pytest.mark.skipif(not PEERS.exists(), reason="python3 tasks.py peers installs langsmith and langfuse")
def test_what_their_sdks_write_where_they_are_installed(tmp_path: Path):
    program = Path(__file__).with_name("exports_program.py")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANGSMITH_TRACING": "false"}
    command = [str(PEERS), "-W", "ignore", str(program)]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert not done.returncode, done.stderr
    documents = json.loads(done.stdout)
    assert documents.keys() == STORED.keys()
    for document in documents.values():
        check_export(document)


def langsmith(inputs: Any, outputs: Any, **fields: Any) -> dict[str, Any]:
    return {"run_type": "llm", "start_time": "2026-01-01T00:00:00", "inputs": inputs, "outputs": outputs, **fields}


ASK = {"role": "user", "content": "What does the lamp cost?"}
SAID = {"role": "assistant", "content": "40 dollars."}


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ({"messages": [ASK]}, {"choices": [{"message": SAID}]}),
        ({"input": ASK["content"]}, {"output": [{"type": "message", **SAID}]}),
        ({"messages": [ASK]}, {"role": "assistant", "content": [{"type": "text", "text": "40 dollars."}]}),
        ({"messages": [{"type": "human", "content": ASK["content"]}]}, {"generations": [[{"text": "40 dollars."}]]}),
        ({"prompts": [[{"type": "human", "data": {"content": ASK["content"]}}]]}, {"output": "40 dollars."}),
        ('{"messages": [{"role": "user", "content": "What does the lamp cost?"}]}', '{"output": "40 dollars."}'),
    ],
    ids=["openai", "responses", "anthropic", "langchain", "data", "text"],
)
def test_the_forms_of_libraries(inputs: Any, outputs: Any):
    tree = {"run_type": "chain", "child_runs": [langsmith(inputs, outputs, prompt_tokens=7, completion_tokens=3)]}
    (state,) = go(states({"runs": [tree]}, "runs.json"))
    assert state.question == ASK["content"]
    assert state.finished.answer == "40 dollars."
    assert (state.usage.input_tokens, state.usage.output_tokens) == (7, 3)


def test_what_is_equal_is_a_run_each():
    call = {"type": "GENERATION", "traceId": "t", "startTime": 1, "input": [ASK], "output": SAID}
    assert len(go(states([call, {**call, "startTime": 2}], "page.jsonl"))) == 2


@pytest.mark.parametrize("odd", [None, 5, "x", [], {}, [[]], [[5]], {"lc": 1}, {"lc": 1, "id": 5, "kwargs": []}])
def test_calls_without_contents_are_counted(odd: Any):
    whole = langsmith({"messages": [ASK]}, {"output": "40 dollars."})
    (state,) = go(states([whole, langsmith(odd, odd, extra=odd, start_time=odd)], "runs.json"))
    assert state.question == ASK["content"]
    with pytest.raises(ConfigError, match="without contents"):
        go(states([langsmith(odd if odd != "x" else None, None)], "runs.json"))
