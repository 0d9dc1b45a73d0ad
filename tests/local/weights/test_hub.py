"""Models of the hub by name, against a hub on loopback that answers as the real one does: a redirect with the file's
size and SHA-256 in its headers to another server that has the bytes, 401 for gated repositories, 404 for files."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kit import row
from local.hub import DATA, Hub, file_names
from treadle import LocalModel, resolve_model
from treadle._cli.main import main
from treadle._local.weights import weights
from treadle._local.weights.fetch import Weights
from treadle._local.weights.hub import HubName, parse, pick
from treadle._local.weights.recommended import CHOICES
from treadle._types.errors import ModelError, UnknownModelError

REPO = "Qwen/Qwen3-0.6B-GGUF"
FILES = ["README.md", "Qwen3-0.6B-Q8_0.gguf", "Qwen3-0.6B-Q4_K_M.gguf", "mmproj-F16.gguf"]
COMMIT = "c" * 40


class FrontHub:
    """The hub itself. Another server (`bytes_at`) has the files."""

    def __init__(self, bytes_at: Hub) -> None:
        self.bytes_at = bytes_at
        self.asked: list[tuple[str, str, str]] = []
        self.moved = False
        self.files = FILES
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.answer(self)

            do_HEAD = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, to: BaseHTTPRequestHandler) -> None:
        token = to.headers.get("Authorization", "")
        self.asked.append((to.command, to.path, token))
        if "/secret/" in to.path and token != "Bearer hf_right":
            return self.send(to, 401, {"X-Error-Code": "GatedRepo"})
        if to.path.startswith("/api/models/"):
            body = json.dumps({"siblings": [{"rfilename": name} for name in self.files]}).encode()
            return self.send(to, 200, {"Content-Type": "application/json"}, body)
        if self.moved and "/old/" in to.path:
            return self.send(to, 307, {"Location": to.path.replace("/old/", "/Qwen/")})
        name = to.path.rpartition("/")[2]
        if name not in (file.rpartition("/")[2] for file in self.files):
            return self.send(to, 404, {"X-Error-Code": "EntryNotFound"})
        return self.send(to, 302, {
            "Location": f"{self.bytes_at.url}/cdn/{name}", "X-Repo-Commit": COMMIT,
            "X-Linked-Size": str(len(DATA)), "X-Linked-ETag": f'"{hashlib.sha256(DATA).hexdigest()}"',
        })  # fmt: skip

    def send(self, to: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        to.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            to.send_header(name, value)
        to.end_headers()
        if to.command != "HEAD":
            to.wfile.write(body)


@pytest.fixture
def front(cache: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Iterator[FrontHub]:
    front = FrontHub(hub)
    thread = threading.Thread(target=front.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", front.url)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    yield front
    front.server.shutdown()
    front.server.server_close()
    thread.join()


def test_a_file_by_its_name(front: FrontHub, cache: Path, monkeypatch: pytest.MonkeyPatch):
    name = f"hf:{REPO}/Qwen3-0.6B-Q8_0.gguf"
    assert weights.find(name) is None
    path = weights.ensure(name, quiet=True)
    assert path == cache / "hf" / REPO / "Qwen3-0.6B-Q8_0.gguf"
    assert path.read_bytes() == DATA
    assert [command for command, _, _ in front.asked] == ["HEAD", "GET"]
    assert f"/resolve/{COMMIT}/" in front.asked[1][1], "the download is of the revision that the hash is of"
    assert file_names(path.parent) == ["Qwen3-0.6B-Q8_0.gguf", "Qwen3-0.6B-Q8_0.gguf.json"]
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert weights.ensure(name) == weights.find(name) == path, "what is here needs no network"


def test_a_quantization_is_picked(front: FrontHub, monkeypatch: pytest.MonkeyPatch):
    path = weights.ensure("qwen3-0.6b", quiet=True)
    assert path.name == "Qwen3-0.6B-Q4_K_M.gguf"
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert weights.ensure(f"hf:{REPO}") == path


def test_what_is_picked():
    for files, picked in [
        (["a-Q8_0.gguf", "a-Q4_K_M.gguf"], "a-Q4_K_M.gguf"),
        (["a.q5_k_m.gguf", "a.f16.gguf"], "a.q5_k_m.gguf"),
        (["Q4_K_M/a-Q4_K_M-00001-of-00002.gguf", "a-Q8_0.gguf"], "a-Q8_0.gguf"),
        (["mmproj-model-f16.gguf", "model.gguf"], "model.gguf"),
        (["UD-Q4_K_XL.gguf", "x-IQ4_XS.gguf"], "UD-Q4_K_XL.gguf"),
        (["README.md", "mmproj-F16.gguf"], ""),
    ]:
        with row(files, picked):
            assert pick(files) == picked


def test_the_token_goes_to_the_hub_alone(front: FrontHub, hub: Hub, monkeypatch: pytest.MonkeyPatch):
    gated = "hf:secret/model-GGUF/Qwen3-0.6B-Q8_0.gguf"
    with pytest.raises(ModelError, match=r"no HF_TOKEN is set.*accept the licence at .*/secret/model-GGUF"):
        weights.ensure(gated, quiet=True)
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(ModelError, match="the token in HF_TOKEN may not read it"):
        weights.ensure(gated, quiet=True)
    monkeypatch.setenv("HF_TOKEN", "hf_right")
    assert weights.ensure(gated, quiet=True).read_bytes() == DATA
    assert hub.headers
    assert not any("authorization" in headers for headers in hub.headers)


def test_what_the_hub_does_not_have(front: FrontHub):
    with pytest.raises(ModelError, match=r"no file other.gguf in Qwen/Qwen3-0.6B-GGUF: look at .*/tree/main"):
        weights.ensure(f"hf:{REPO}/other.gguf", quiet=True)


def test_a_renamed_repository_is_followed(front: FrontHub):
    front.moved = True
    assert weights.ensure("hf:old/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf", quiet=True).read_bytes() == DATA


def test_a_hub_that_cannot_be_reached(cache: Path):
    with pytest.raises(ModelError, match="cannot be reached"):
        weights.ensure(f"hf:{REPO}", quiet=True)


def test_names_that_lead_elsewhere_are_refused():
    for name in ["hf:", "hf:Qwen", "hf:../../etc/passwd.gguf", "hf:a/b/../c.gguf", "hf:a/b/c.txt"]:
        with row(name), pytest.raises(UnknownModelError, match="names no model of the hub"):
            parse(name)


@pytest.mark.parametrize(
    "listed",
    [
        "../../../../../../evil-Q4_K_M.gguf",
        "/evil-Q4_K_M.gguf",
        "a/../../../../evil-Q4_K_M.gguf",
        "..\\..\\evil-Q4_K_M.gguf",
        "C:\\evil-Q4_K_M.gguf",
        ".evil-Q4_K_M.gguf",
    ],
)
def test_names_of_the_hub_that_lead_elsewhere_are_not_taken(front: FrontHub, tmp_path: Path, listed: str):
    front.files = ["README.md", listed]
    with pytest.raises(ModelError, match=r"has no \.gguf file"):
        weights.ensure("hf:o/evil", quiet=True)
    front.files.append("sub/good-Q8_0.gguf")
    assert weights.ensure("hf:o/evil", quiet=True) == tmp_path / "cache/models/hf/o/evil/sub/good-Q8_0.gguf"
    assert not any("evil-" in path.name for path in tmp_path.rglob("*"))


@pytest.mark.parametrize("file", ["../evil.gguf", "a/../../evil.gguf", "/evil.gguf"])
def test_nothing_is_written_outside_the_folder_of_models(cache: Path, file: str):
    with pytest.raises(ModelError, match="leads out of the folder"):
        weights.fetch(Weights("evil", "o/evil", file, 1, "0" * 64, folder="hf/o/evil"), quiet=True)


def test_names_of_models(cache: Path):
    assert parse(f"hf:{REPO}") == HubName(REPO)
    pytest.importorskip("xllamacpp")
    model = resolve_model(f"local:hf:{REPO}")
    assert isinstance(model, LocalModel)
    assert (model.name, model.needs_download, model.profile.parameters) == ("Qwen3-0.6B", True, 0.6)
    assert LocalModel("qwen3-4b").name == "Qwen3-4B"


def test_pull_list_and_remove(front: FrontHub, capsys: pytest.CaptureFixture[str]):
    assert main(["models", "pull", f"hf:{REPO}/Qwen3-0.6B-Q8_0.gguf"]) == 0
    assert "0.00 GB" in capsys.readouterr().out
    assert main(["models", "remove", f"local:hf:{REPO}/Qwen3-0.6B-Q8_0.gguf"]) == 0
    assert weights.find(f"hf:{REPO}") is None
    assert main(["models", "remove", f"hf:{REPO}"]) == 0
    assert "not on this machine" in capsys.readouterr().out


def test_every_choice_says_what_it_is():
    for choice in CHOICES.values():
        assert parse(choice.source).repo == choice.repo
        assert 0.3 <= choice.billions < 9
        assert choice.window >= 8192
        assert choice.licence
        assert choice.file.endswith(".gguf")
        assert 0.3 <= choice.gigabytes / choice.billions <= 1.2, "4 to 8 bits each"
        assert choice.can


def test_the_families_that_people_use_have_a_choice():
    for family in (
        "qwen3-",
        "qwen3.5-",
        "lfm2.5",
        "granite-4",
        "gemma-3",
        "gemma-4",
        "smollm3",
        "llama-3.2",
        "ministral",
        "phi",
    ):
        assert any(name.startswith(family) for name in CHOICES), family
