"""Adapters: read, refused when they do not fit, and used for the requests that they were trained on."""

from __future__ import annotations

import array
import importlib.util
import random
import struct
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kit import go
from local.local_kit import GUARD, SMALL, sensible, short
from local.weights.test_gguf import number, string, text
from treadle import ConfigError, ModelError
from treadle._cli.setup.launch import print_choice
from treadle._dialects.registry import choose_dialect
from treadle._local.default import install_hints
from treadle._local.dialects.compact import ADAPTER_FORMAT
from treadle._local.model import LocalModel
from treadle._local.weights.adapters import PACKAGE, TAUGHT, missing_adapter, read_adapter, unpacked
from treadle._models.catalog.default import Choice
from treadle._types.messages import UserMessage
from treadle._types.request import OutputFormat, Reply, Request

WIDTH, RANK = 576, 4
"""Of the smallest model's query projection, and of the adapter made here."""


def write_adapter(path: Path, *, form: str = ADAPTER_FORMAT, kind: str = "lora", strength: float = 0.5) -> Path:
    """An adapter that changes the model's first layer at random."""
    keys = [
        string("general.architecture", "llama"),
        string("general.type", "adapter"),
        string("adapter.type", kind),
        string("general.name", "noise"),
        string("treadle.format", form),
        text("adapter.lora.alpha") + struct.pack("<If", 6, 8.0),
        number("general.alignment", 32),
    ]
    shapes = {"blk.0.attn_q.weight.lora_a": (WIDTH, RANK), "blk.0.attn_q.weight.lora_b": (RANK, WIDTH)}
    r = random.Random(1)
    infos, data = b"", b""
    for name, (columns, rows) in shapes.items():
        infos += text(name) + struct.pack("<IQQIQ", 2, columns, rows, 0, len(data))
        data += array.array("f", (r.gauss(0, strength) for _ in range(columns * rows))).tobytes()
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(keys)) + b"".join(keys) + infos
    path.write_bytes(head + b"\0" * (-len(head) % 32) + data)
    return path


def test_the_adapters_were_trained_on_what_this_version_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Fails when the prompts of `compact` change: then the adapters have to be trained again (lab/README.md). What is
    in the cache and damaged is unpacked again, and what is not what it should be is refused."""
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path))
    paths = [tmp_path / "adapters" / f"{one.name}-{one.sha256[:8]}.gguf" for one in TAUGHT.values()]
    paths[0].parent.mkdir()
    paths[0].write_bytes(b"rubbish")
    for path, adapter in zip(paths, TAUGHT.values(), strict=True):
        assert unpacked(adapter) == str(path)
        assert adapter.name.startswith(read_adapter(path).name)  # refuses one of another form
    assert sorted((tmp_path / "adapters").iterdir()) == sorted(paths)
    with pytest.raises(ModelError, match="its contents have changed"):
        unpacked(msgspec.structs.replace(next(iter(TAUGHT.values())), sha256="0" * 64))


def test_a_model_of_the_catalogue_has_its_adapter_unless_it_is_switched_off():
    model = LocalModel("qwen2.5-coder-1.5b")
    assert model.profile.adapter == "treadle-1.5b-10"
    assert choose_dialect("auto", model.profile).name == "compact"
    without = LocalModel("qwen2.5-coder-1.5b", adapter=False)
    assert without.profile.adapter == ""
    assert choose_dialect("auto", without.profile).name != "compact"


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take `treadle-adapters` from the path, as if it had not been installed."""
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not Path(entry, PACKAGE).is_dir()])
    monkeypatch.delitem(sys.modules, PACKAGE, raising=False)


@pytest.mark.usefixtures("not_installed")
def test_without_the_distribution_a_model_works_and_one_line_says_how_to_install_it(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    assert importlib.util.find_spec(PACKAGE) is None
    for _ in range(2):
        model = LocalModel("qwen2.5-coder-1.5b")
        assert model.profile.adapter == ""
        assert choose_dialect("auto", model.profile).name == "direct"
        (line,) = [record.getMessage() for record in caplog.records]
        assert "qwen2.5-coder-1.5b runs without its adapter" in line
        assert line.endswith("pip install ./packages/treadle-adapters")
        caplog.clear()
    LocalModel("qwen2.5-coder-1.5b", adapter=False)
    LocalModel(SMALL)
    assert not caplog.records

    monkeypatch.setenv("COLUMNS", "300")  # the program, which shows no log, says it beside the name of the model
    print_choice(Choice("local:qwen2.5-coder-1.5b", "named with --model"))
    assert capsys.readouterr().err.splitlines() == ["model: local:qwen2.5-coder-1.5b (named with --model)", line]
    assert install_hints(f"local:{SMALL}") == []


def test_a_distribution_of_another_version_without_the_adapter_is_like_none(monkeypatch: pytest.MonkeyPatch):
    assert missing_adapter("qwen2.5-coder-1.5b") == ""
    other = msgspec.structs.replace(TAUGHT["qwen2.5-coder-1.5b"], name="treadle-1.5b-11")
    monkeypatch.setitem(TAUGHT, "qwen2.5-coder-1.5b", other)
    assert "treadle-adapters" in missing_adapter("qwen2.5-coder-1.5b")
    with pytest.raises(ModelError, match="its file is gone"):
        unpacked(msgspec.structs.replace(other, sha256="0" * 64))


def test_an_adapter_has_a_name(tmp_path: Path):
    adapter = read_adapter(write_adapter(tmp_path / "a.gguf"))
    assert (adapter.name, adapter.path) == ("noise", str(tmp_path / "a.gguf"))


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        ({"form": "00000000"}, "trained on another form of prompts"),
        ({"kind": "other"}, "is not an adapter"),
    ],
)
def test_one_that_does_not_fit_is_refused(tmp_path: Path, made: dict[str, Any], problem: str):
    with pytest.raises(ConfigError, match=problem):
        read_adapter(write_adapter(tmp_path / "a.gguf", **made))


def test_one_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(ConfigError, match="cannot read the adapter"):
        read_adapter(tmp_path / "none.gguf")


def test_a_model_with_an_adapter_speaks_the_dialect_it_was_trained_on(tmp_path: Path):
    model = LocalModel(SMALL, adapter=write_adapter(tmp_path / "a.gguf"))
    assert choose_dialect("auto", model.profile).name == "compact"
    assert choose_dialect("auto", LocalModel(SMALL).profile).name == "brief"
    assert (model.profile.adapter, model.profile.tiny) == ("noise", False)


@pytest.mark.model
@GUARD
def test_it_is_used_for_the_requests_it_was_trained_on_and_for_no_others(tmp_path: Path):
    tuned = LocalModel(short(), n_ctx=512, slots=2, max_tokens=12, adapter=write_adapter(tmp_path / "a.gguf"))
    plain = LocalModel(short(), n_ctx=512, slots=2, max_tokens=12)

    async def said(model: LocalModel, request: Request) -> str:
        parts = [part async for part in model.stream(request)]
        assert isinstance(parts[-1], Reply)
        return parts[-1].text

    async def main() -> tuple[str, str, str]:
        question = Request((UserMessage("Count from one to ten."),))
        without, off = await said(plain, question), await said(tuned, question)
        return without, off, await said(tuned, question.replace(tuned=True))

    without, off, on = go(main())
    assert without == off != on


@pytest.mark.model
@GUARD
def test_the_runtime_says_what_the_model_would_have_written_before_the_constraint(tmp_path: Path):
    model = sensible()
    only = {"type": "object", "properties": {"action": {"const": "zebra"}}, "required": ["action"]}
    request = Request(
        (UserMessage('Reply with {"action": "hello"} and nothing else.'),),
        format=OutputFormat("schema", only),
        decision_after='"action": "',
    )

    async def main() -> Reply:
        parts = [part async for part in model.stream(request)]
        assert isinstance(parts[-1], Reply)
        return parts[-1]

    reply = go(main())
    assert '"zebra"' in reply.text
    assert max(reply.options, key=lambda text: reply.options[text])[:1] in ("h", "H"), reply.options
    assert 0.5 < sum(reply.options.values()) <= 1.01
