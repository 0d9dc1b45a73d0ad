"""What a user has accepted: remembered for its owner only, and never guessed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from treadle._safety.trust import TrustStore
from treadle._types.errors import ConfigError


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "state" / "trust.json")


def test_a_folder_is_trusted_itself_and_not_what_is_in_it(store: TrustStore, tmp_path: Path):
    inside = tmp_path / "project" / "vendor"
    inside.mkdir(parents=True)
    assert not store.trusts_folder(tmp_path / "project")
    store.trust_folder(tmp_path / "project")
    store.trust_folder(tmp_path / "project")
    assert store.folders() == (os.path.realpath(tmp_path / "project"),)
    assert store.trusts_folder(inside / "..")
    assert not store.trusts_folder(inside)
    assert not store.trusts_folder(tmp_path)
    assert store.forget(tmp_path / "project")
    assert not store.forget(tmp_path / "project")
    assert not store.trusts_folder(tmp_path / "project")


def test_a_skill_is_accepted_as_it_was(store: TrustStore, tmp_path: Path):
    assert store.skill(tmp_path / "a", "1") == "new"
    store.accept_skill(tmp_path / "a", "1")
    assert store.skill(tmp_path / "a", "1") == "accepted"
    assert store.skill(tmp_path / "elsewhere", "1") == "accepted"
    assert store.skill(tmp_path / "a", "2") == "changed"
    assert store.skill(tmp_path / "elsewhere", "2") == "new"
    assert store.forget(tmp_path / "a")
    assert store.skill(tmp_path / "a", "1") == "new"


def test_nobody_else_reads_or_writes_it(store: TrustStore, tmp_path: Path):
    store.trust_folder(tmp_path)
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert [path.name for path in store.path.parent.iterdir()] == ["trust.json"]
    store.path.chmod(0o666)
    with pytest.raises(ConfigError, match="not yours alone"):
        store.trusts_folder(tmp_path)


@pytest.mark.parametrize("text", ["{", '{"folders": "/"}', '{"more": 1}', "[" * 2000])
def test_a_file_that_cannot_be_read_trusts_nothing(store: TrustStore, tmp_path: Path, text: str):
    store.path.parent.mkdir()
    store.path.write_text(text)
    store.path.chmod(0o600)
    with pytest.raises(ConfigError, match="remove it"):
        store.trusts_folder(tmp_path)


def test_a_file_that_cannot_be_written_says_so(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises((ConfigError, OSError)):
        TrustStore(tmp_path / "file" / "trust.json").trust_folder(tmp_path)
    store = TrustStore(tmp_path / "folder")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match="cannot be"):
        store.trust_folder(tmp_path)


def test_what_was_declined_is_not_asked_again_until_it_is_trusted(store: TrustStore, tmp_path: Path):
    assert not store.declined("digest")
    store.decline("digest")
    store.decline(os.path.realpath(tmp_path))
    assert store.declined("digest")
    store.trust_folder(tmp_path)
    assert not store.declined(os.path.realpath(tmp_path))
