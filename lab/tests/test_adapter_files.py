"""Adapters as files: written and read, averaged, rounded, carried in pieces; figures and their intervals."""

from __future__ import annotations

import json
import lzma
import re
import subprocess
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from lab_kit import LAB
from training import adapter_file, campaign, pack, pieces, soup
from training.adapter_file import AdapterFile
from training.render import spaced
from treadle._inspect.evals.stats import wilson
from treadle._local.dialects.compact import ADAPTER_FORMAT
from treadle._local.weights.adapters import read_adapter

SHAPES = {"blk.0.attn_q": (24, 16), "blk.0.ffn_down": (12, 40)}


def adapter(seed: int, rank: int = 4, dtype: type = np.float16) -> AdapterFile:
    r = np.random.default_rng(seed)
    tensors = {}
    for name, (rows, columns) in SHAPES.items():
        tensors[f"{name}.weight.lora_a"] = r.normal(size=(rank, columns)).astype(dtype)
        tensors[f"{name}.weight.lora_b"] = r.normal(size=(rows, rank)).astype(dtype)
    texts = adapter_file.described("llama", "made", {"seed": str(seed), "format": ADAPTER_FORMAT})
    return AdapterFile(texts, 8.0, tensors)


def test_the_product_reads_what_is_written(tmp_path: Path):
    path = tmp_path / "made.gguf"
    adapter_file.write(path, adapter(1))
    assert read_adapter(path).name == "made"
    again = adapter_file.read(path)
    assert (again.texts, again.alpha) == (adapter(1).texts, 8.0)
    for name, tensor in adapter(1).tensors.items():
        assert np.array_equal(again.tensors[name], tensor)
    (tmp_path / "text.gguf").write_text("something else, of some length")
    with pytest.raises(ValueError, match="no GGUF file"):
        adapter_file.read(tmp_path / "text.gguf")


def test_the_mean_of_adapters_is_the_mean_of_their_changes():
    one, two = adapter(1), adapter(2)
    exact = soup.mean([one, two], rank=8)
    for projection in one.projections:
        wanted = (one.change(projection) + two.change(projection)) / 2
        assert np.allclose(exact.change(projection), wanted, atol=0.1)
    assert soup.lost([one, two], exact) < 1e-4
    assert exact.texts["treadle.seed"] == "1+2"


def test_the_same_adapter_twice_is_itself_and_a_smaller_rank_keeps_the_most():
    one, two = adapter(1), adapter(2)
    assert soup.lost([one, one], soup.mean([one, one])) < 1e-4
    losses = [soup.lost([one, two], soup.mean([one, two], rank=rank)) for rank in (2, 4, 8)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > 0.01


def test_adapters_of_different_models_have_no_mean():
    other = adapter(2)._replace(tensors={"blk.0.attn_k.weight.lora_a": np.zeros((4, 8), np.float16)})
    with pytest.raises(ValueError, match="different models"):
        soup.mean([adapter(1), other])


def test_packed_weights_are_near_and_their_hash_is_told(tmp_path: Path):
    source = tmp_path / "made.gguf"
    adapter_file.write(source, adapter(1))
    packed, digest = pack.pack(source, tmp_path)
    assert source.is_file()
    plain = tmp_path / "plain.gguf"
    plain.write_bytes(lzma.decompress(packed.read_bytes()))
    assert pieces._hash(plain) == digest
    for name, tensor in adapter(1).tensors.items():
        near = adapter_file.read(plain).tensors[name].astype(np.float32)
        assert np.all(np.abs(near - tensor) <= 0.032 * np.abs(tensor.astype(np.float32)) + 1e-6)


def test_pieces_make_the_file_again_and_tell_what_is_missing(tmp_path: Path):
    source = tmp_path / "weights"
    source.write_bytes(np.random.default_rng(1).bytes(100_001))
    folder, out = tmp_path / "pieces", tmp_path / "there" / "weights"
    made = pieces.split(source, folder, 30_000)
    assert len(made) == 4
    kept = made[2].read_bytes()
    made[2].unlink()
    made[1].write_bytes(b"damaged")
    assert pieces.missing(folder) == ["001.piece", "002.piece"]
    assert not pieces.join(folder, out)
    assert not out.exists()
    made[2].write_bytes(kept)
    pieces.split(source, folder, 30_000)
    assert pieces.join(folder, out)
    assert out.read_bytes() == source.read_bytes()
    for piece in made:
        piece.unlink()
    assert pieces.join(folder, out)  # it is whole: no piece is needed any more


def test_the_parcels_arrive_with_the_script_of_the_other_machine(tmp_path: Path):
    source = tmp_path / "weights"
    source.write_bytes(np.random.default_rng(2).bytes(50_000))
    parcel = tmp_path / "parcel"
    pieces.split(source, parcel / "pieces" / "0.5b", 20_000)
    (parcel / "data").mkdir()
    (parcel / "data" / "conversations.jsonl.xz").write_bytes(b"x")
    environment = {"TREADLE_DEVICE_HOME": str(tmp_path / "there"), "PATH": "/usr/bin:/bin", "PYTHON": _python()}
    done = subprocess.run(
        ["sh", "lab/training/device.sh", "arrive", str(parcel)],
        cwd=LAB.parent, env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "is whole" in done.stdout
    assert (tmp_path / "there" / "weights" / "0.5b.gguf").read_bytes() == source.read_bytes()
    assert (tmp_path / "there" / "conversations.jsonl.xz").is_file()


def _python() -> str:
    import sys

    return sys.executable


@pytest.mark.parametrize(
    ("right", "of", "low", "high"), [(85, 118, 0.63, 0.79), (108, 118, 0.85, 0.95), (0, 10, 0, 0.28), (0, 0, 0, 1)]
)
def test_intervals(right: int, of: int, low: float, high: float):
    assert wilson(right, of) == pytest.approx((low, high), abs=0.006)


def test_a_pair_of_ones_own_runs_has_the_blanks_that_a_model_has_to_write():
    """`runs export --training` writes JSON without blanks; the constraint demands them."""
    assert spaced('{"action":"find","args":{"n":[1,2]}}') == '{"action": "find", "args": {"n": [1, 2]}}'


def test_what_is_trained_is_collected_once_the_mean_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out, first, second = tmp_path / "0.5b", tmp_path / "first", tmp_path / "second"
    out.mkdir()
    for seed, name in enumerate(("made-1", "made-mean")):
        adapter_file.write(out / f"{name}.gguf", adapter(seed))
    (out / "made-1_own.json").write_text(json.dumps({"right": 3, "of": 4, "by": {}}))
    campaign.collect(out, first, files=1)
    assert sorted(path.name for path in first.iterdir()) == ["0.5b-figures.tar.gz", "made-mean.gguf.xz"]
    monkeypatch.setattr(campaign, "PIECE", 300)  # as if it were larger than what travels
    campaign.collect(out, second, files=50)
    assert pieces.join(second / "made-1", tmp_path / "made-1.gguf.xz")
    assert not (second / "made-mean").exists()
    assert lzma.decompress((tmp_path / "made-1.gguf.xz").read_bytes())[:4] == b"GGUF"
    campaign.collect(out, tmp_path / "third", files=50, again=True)
    assert {path.name for path in (tmp_path / "third").iterdir() if path.is_dir()} == {"made-1", "made-mean"}


def test_what_does_not_fit_is_told_and_left_for_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "1.5b"
    out.mkdir()
    adapter_file.write(out / "made-mean.gguf", adapter(1))
    monkeypatch.setattr(campaign, "PIECE", 300)
    campaign.collect(out, tmp_path / "first", files=1)
    assert re.search(r"made-mean takes \d+ files and is left for the next time", capsys.readouterr().out)
    campaign.collect(out, tmp_path / "second", files=50)
    assert (tmp_path / "second" / "made-mean").is_dir()


def test_the_mean_of_seeds_is_made_once_in_the_rank_of_one(tmp_path: Path):
    seeds = [tmp_path / "made-1.gguf", tmp_path / "made-2.gguf"]
    for seed, path in enumerate(seeds):
        adapter_file.write(path, adapter(seed))
    made = campaign.blend(Namespace(out=tmp_path, name="made"), seeds)
    parts = [adapter_file.read(path) for path in seeds]
    mean, wide = adapter_file.read(made), soup.mean(parts, 32)
    assert {name: tensor.shape for name, tensor in mean.tensors.items()} == {
        name: tensor.shape for name, tensor in parts[0].tensors.items()
    }
    assert soup.lost(parts, wide) < 1e-4 < soup.lost(parts, mean) < 1
    before = made.stat().st_mtime_ns
    assert campaign.blend(Namespace(out=tmp_path, name="made"), seeds) == made
    assert made.stat().st_mtime_ns == before


def test_two_can_pack_the_same_adapter_at_the_same_time(tmp_path: Path):
    source = tmp_path / "made-1.gguf"
    adapter_file.write(source, adapter(1))
    with ThreadPoolExecutor(8) as pool:
        packed = list(pool.map(lambda _: pack.pack(source, tmp_path / "packed"), range(64)))
    assert len(set(packed)) == 1
    assert [path.name for path in (tmp_path / "packed").iterdir()] == ["made-1.gguf.xz"]
