"""Evaluated system prompts on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from local.local_kit import GUARD, short
from treadle._local.runtime import prompt_cache
from treadle._local.runtime.prompt_cache import PromptCache, folder, shared_prefix_of
from treadle._types.errors import ModelError
from treadle._types.messages import SystemMessage, UserMessage

RULES = "You are a helpful assistant. " + "Be brief, and say what you know about it in one word. " * 11


class Runtime:
    """What the runtime does with slots, in files of a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.asked: list[str] = []
        self.slot = b"evaluated"

    def post(self, path: str, body: bytes) -> Any:
        self.asked.append(path)
        file = self.path / json.loads(body)["filename"]
        if path.endswith("=save"):
            file.write_bytes(self.slot)
        elif file.read_bytes() != self.slot:
            raise ModelError("invalid slot save file")


def test_what_was_kept_is_restored_for_the_same_text_model_and_adapter(tmp_path: Path):
    runtime = Runtime(tmp_path)
    ours = PromptCache(str(tmp_path), "model 1", runtime.post)
    assert not ours.restore(0, RULES, False)
    assert runtime.asked == []
    ours.save(0, RULES, False)
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert ours.restore(2, RULES, False)
    assert runtime.asked[-1] == "/slots/2?action=restore"
    for other, text, tuned in ((ours, RULES + "x", False), (ours, RULES, True)):
        assert not other.restore(0, text, tuned)
    assert not PromptCache(str(tmp_path), "model 2", runtime.post).restore(0, RULES, False)


def test_a_damaged_file_is_deleted(tmp_path: Path):
    ours = PromptCache(str(tmp_path), "model", Runtime(tmp_path).post)
    ours.save(0, RULES, False)
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"half")
    assert not ours.restore(0, RULES, False)
    assert not file.exists()


def test_what_cannot_be_kept_is_not(tmp_path: Path):
    def refused(path: str, body: bytes) -> Any:
        raise ModelError("no space")

    PromptCache(str(tmp_path), "model", refused).save(0, RULES, False)
    assert list(tmp_path.iterdir()) == []


def test_the_oldest_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(prompt_cache, "MAX_FILES", 2)
    ours = PromptCache(str(tmp_path), "model", Runtime(tmp_path).post)
    for number in range(3):
        ours.save(0, str(number), False)
        for path in tmp_path.iterdir():
            os.utime(path, (path.stat().st_mtime - 10, path.stat().st_mtime - 10))
    assert [ours.restore(0, str(number), False) for number in range(3)] == [False, True, True]
    monkeypatch.setattr(prompt_cache, "MAX_BYTES", 5)
    ours.save(0, "9", False)
    assert list(tmp_path.iterdir()) == []


def test_only_the_system_prompt_is_kept():
    prompt = f"<s>{RULES}</s><u>What is my salary?</u>"
    assert shared_prefix_of(prompt, SystemMessage(RULES)) == f"<s>{RULES}"
    assert shared_prefix_of(prompt, SystemMessage("short")) == ""
    assert shared_prefix_of(prompt, UserMessage(RULES)) == ""
    assert shared_prefix_of("<s>something else</s>", SystemMessage(RULES)) == ""
    assert shared_prefix_of(prompt, None) == ""


def test_the_folder_is_the_users_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path / "cache"))
    assert Path(folder()).stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path / "file"))
    assert folder() == ""


PROGRAM = """
import asyncio, json, sys
from treadle._models.base import complete
from treadle._local.model import LocalModel
from treadle._types.messages import SystemMessage, UserMessage
from treadle._types.request import Request

async def main():
    model = LocalModel(sys.argv[1], n_ctx=1024, slots=1, max_tokens=8)
    try:
        reply = await complete(model, Request([SystemMessage(sys.argv[2]), UserMessage("Name a colour.")]))
    finally:
        await model.aclose()
    print(json.dumps([reply.text, reply.usage.input_tokens, reply.usage.cached_tokens]))

asyncio.run(main())
"""


@pytest.mark.model
@GUARD
def test_the_next_process_does_not_read_the_system_prompt_again(tmp_path: Path):
    path = short()

    def answer() -> tuple[str, int, int]:
        command = [sys.executable, "-c", PROGRAM, path, RULES]
        env = {**os.environ, "TREADLE_CACHE": str(tmp_path)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        text, given, cached = json.loads(done.stdout.splitlines()[-1])
        return text, given, cached

    text, given, cached = answer()
    assert cached == 0
    (file,) = (tmp_path / "prompts").iterdir()
    again = answer()
    assert again[0] == text
    assert again[2] > 0.8 * given
    file.write_bytes(file.read_bytes()[:1000])
    assert answer() == (text, given, 0), "a damaged file is as good as none"
