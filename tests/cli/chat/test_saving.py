"""A conversation as a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treadle._cli.chat.slash_commands import save
from treadle._types.errors import ConfigError
from treadle._types.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage

TALK: list[Message] = [
    SystemMessage("Be nice."),
    UserMessage("How much is it?"),
    AssistantMessage("", (ToolCall("c", "price", {"of": "tea"}),)),
    ToolMessage("c", "price", "3\neuros"),
    AssistantMessage("Three **euros**."),
]


def test_markdown_to_read(tmp_path: Path):
    path = save(TALK, str(tmp_path / "talk.md"))
    assert path.read_text() == (
        "## You\n\nHow much is it?\n\n`price` tea\n\n> 3\n> euros\n\n## Answer\n\nThree **euros**.\n"
    )


def test_json_with_every_message(tmp_path: Path):
    saved = json.loads(save(TALK, str(tmp_path / "talk.json")).read_text())
    assert [message["role"] for message in saved] == ["user", "assistant", "tool", "assistant"]


def test_nothing_is_written_over(tmp_path: Path):
    (tmp_path / "x.md").write_text("mine")
    with pytest.raises(ConfigError, match="choose another name"):
        save(TALK, str(tmp_path / "x.md"))
    assert (tmp_path / "x.md").read_text() == "mine"
    with pytest.raises(ConfigError, match="cannot be written"):
        save(TALK, str(tmp_path / "none" / "x.md"))
