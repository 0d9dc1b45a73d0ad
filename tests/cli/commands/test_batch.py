"""`treadle batch`: a file of questions, killed and continued."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.terminal import Inside
from models.batching.batch_servers import OpenAIServer
from models.loopback import Loopback
from models.wires import ChatWire, Sample
from treadle import ConfigError
from treadle._agent.batch import BatchState
from treadle._cli.commands.batch import bar, read_tasks
from treadle._models.batching.apis import Progress


def test_a_file_of_questions(home: Path, inside: Inside, tmp_path: Path):
    (tmp_path / "script.json").write_text(json.dumps(["one", "two"]))
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"id": "a", "question": "first?"}\nsecond?\n\n')
    ran = inside("batch", str(tasks), "-m", f"scripted:{tmp_path / 'script.json'}", "--together", "1")
    out = tmp_path / "tasks.answers.jsonl"
    assert ran.code == 0
    assert ran.out == f"2 of 2 answered: {out}\n"
    answers = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(one["id"], one["answer"]) for one in answers] == [("a", "one"), ("2", "two")]
    assert "] 2/2" in ran.err
    assert ran.err.startswith("2 questions, 1 at a time, at the full price: no batch interface (") or (
        "\n2 questions, 1 at a time, at the full price: no batch interface (" in ran.err
    )
    again = inside("batch", str(tasks), "-m", f"scripted:{tmp_path / 'script.json'}", "-q")
    assert again.out == ran.out
    assert again.err == ""


def test_files_that_cannot_be_used(tmp_path: Path):
    path = tmp_path / "tasks.jsonl"
    for text, why in (('{"q": 1}', 'line 1: no "question"'), ("ok\n{", "line 2"), ("\n", "no questions")):
        path.write_text(text)
        with pytest.raises(ConfigError, match=why):
            read_tasks(str(path))
    with pytest.raises(ConfigError, match="cannot be read"):
        read_tasks(str(tmp_path / "missing"))


def test_the_bar():
    state = BatchState(4, done=1, failed=1, cost=0.5, half_price=True, rounds=2, provider=Progress("running", 3, 4))
    assert bar(state, 8) == "[##......] 1/4 · 1 failed · round 2: running 3/4 · $0.5000 (half price)"
    assert bar(BatchState(2, done=2), 4) == "[####] 2/2"


def test_killed_while_the_provider_works_and_continued(home: Path, tmp_path: Path):
    wire = ChatWire()

    def say(body: Any) -> Any:
        text = wire.sent({"stream": False, **body}).texts[-1].upper()
        return json.loads(b"".join(wire.whole(Sample(text)).pieces))

    async def main() -> None:
        server = OpenAIServer(say)
        server.never = True
        tasks = tmp_path / "tasks.jsonl"
        tasks.write_text("one?\ntwo?\n")
        async with Loopback(server) as loopback:
            env = {**os.environ, "OPENAI_API_KEY": "k-for-tests", "OPENAI_BASE_URL": loopback.url, "HOME": str(home)}
            env |= {"TREADLE_STATE": str(home / "state")}
            command = [sys.executable, "-m", "treadle", "batch", str(tasks), "-m", "openai:gpt-4o", "--interface"]
            command += ["--poll", "0.05", "-t", "none", "-q"]

            async def start() -> asyncio.subprocess.Process:
                pipe = asyncio.subprocess.PIPE
                return await asyncio.create_subprocess_exec(*command, env=env, stdout=pipe, stderr=pipe)

            process = await start()
            while not server.polls and process.returncode is None:  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(0.02)
            assert process.returncode is None, (await process.communicate())[1].decode()
            process.send_signal(signal.SIGKILL)
            await process.communicate()
            server.never = False
            out, err = await (await start()).communicate()
            assert out.decode().startswith("2 of 2 answered, $"), err.decode()
            assert "at half the price" in out.decode()
            assert len(server.batches) == 1

    asyncio.run(main())
