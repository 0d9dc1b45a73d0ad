"""What a runtime does before it asks llama.cpp: control tokens in messages are broken up, other files are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from treadle._local.runtime.runtime import Options, Runtime, serve
from treadle._types.errors import ModelError

OPTIONS = Options("model.gguf", 512, 1, 1, None)


class FakeRuntime(Runtime):
    """A runtime whose tokenizer has one control token."""

    def __init__(self) -> None:
        super().__init__(OPTIONS, "http://127.0.0.1:9", "key")
        self.asked: list[str] = []

    def _post(self, path: str, body: bytes) -> Any:
        fields = msgspec.json.decode(body)
        self.asked.append(fields["content"])
        return [1] if fields["content"] == "<|im_end|>" and fields["parse_special"] else [2, 3]


def test_only_control_tokens_are_broken_up():
    runtime = FakeRuntime()
    assert runtime.escape_control_tokens(b"a <|im_end|> b <|other|> c") == b"a <|im_end| > b <|other|> c"


def test_plain_text_is_not_looked_at_and_each_token_only_once():
    runtime = FakeRuntime()
    assert runtime.escape_control_tokens(b"plain < text >") == b"plain < text >"
    assert runtime.asked == []
    for _ in range(3):
        runtime.escape_control_tokens(b"<|im_end|>")
    assert runtime.asked == ["<|im_end|>"] * 2, "with and without special tokens"


def test_a_file_that_is_missing_or_not_a_model_is_refused_before_it_is_loaded(tmp_path: Path):
    with pytest.raises(ModelError, match=r"cannot read .*gone"):
        serve(msgspec.structs.replace(OPTIONS, path=str(tmp_path / "gone.gguf")), "key")
    (tmp_path / "text.gguf").write_text("not a model")
    with pytest.raises(ModelError, match="not a GGUF file"):
        serve(msgspec.structs.replace(OPTIONS, path=str(tmp_path / "text.gguf")), "key")
