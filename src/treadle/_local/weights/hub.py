"""Models of the hub by name: `hf:ORG/REPO/FILE.gguf`, or `hf:ORG/REPO` and a sensible quantization is picked.

Size and SHA-256 are the hub's own, from the headers of its response; what was downloaded is written down beside the
file, so a model that is here needs no network. `HF_ENDPOINT` names another hub, `HF_TOKEN` is sent to that host alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Struct

from treadle._local.weights.fetch import Weights, hub_base, hub_headers, run_here
from treadle._models.transport.failures import Origin
from treadle._models.transport.redirects import MOST, Hop, RedirectRefused
from treadle._models.transport.side_requests import Answered, send
from treadle._models.transport.wire import as_dict, as_list, as_text
from treadle._types.errors import ModelError, TransientModelError, UnknownModelError

PREFIX = "hf:"
SECONDS = 20.0
MAX_LISTING = 8_000_000
PREFERRED = ("Q4_K_M", "Q4_K_S", "Q4_K_XL", "IQ4_XS", "Q4_0", "Q5_K_M", "Q5_K_S", "Q6_K", "Q8_0", "BF16", "F16")
"""The first of these that a repository has. Q4_K_M is what most people run: a third of the size, and little is lost."""
_SEGMENT = re.compile(r"[A-Za-z0-9][\w.-]*")
_SHA = re.compile(r"[0-9a-f]{64}")
_PART = re.compile(r"-\d{5}-of-\d{5}\.gguf$")


class HubName(Struct, frozen=True):
    """A model on the hub; without a file, one is picked."""

    repo: str
    file: str = ""

    @property
    def stem(self) -> str:
        """Return what the model is called."""
        return Path(self.file).stem if self.file else re.sub(r"(?i)[-_.]gguf$", "", self.repo.rpartition("/")[2])


def parse(name: str) -> HubName:
    """The parts of `hf:ORG/REPO[/FILE.gguf]`."""
    segments = name.removeprefix(PREFIX).split("/")
    file = "/".join(segments[2:])
    if (
        len(segments) < 2
        or not _stays_below(name.removeprefix(PREFIX))
        or (file and not file.lower().endswith(".gguf"))
    ):
        raise UnknownModelError(
            f"{name!r} names no model of the hub: expected hf:ORG/REPO or hf:ORG/REPO/FILE.gguf, "
            "like hf:Qwen/Qwen3-0.6B-GGUF"
        )
    return HubName("/".join(segments[:2]), file)


def _stays_below(path: str) -> bool:
    """Return whether a path of the hub leads to no other folder, on any system, and needs no quoting."""
    return all(_SEGMENT.fullmatch(segment) for segment in path.split("/"))


def pick(files: Iterable[str]) -> str:
    """The file of a repository that suits most machines; "" when it has none."""
    whole = sorted(
        file
        for file in files
        if file.lower().endswith(".gguf") and "mmproj" not in file.lower() and not _PART.search(file)
    )
    for wanted in PREFERRED:
        for file in whole:
            if re.search(rf"(?i)(?:^|[-._/]){wanted}(?=[-._/]|$)", Path(file).stem):
                return file
    return whole[0] if whole else ""


def resolve(name: HubName) -> Weights:
    """Return what the hub says about the file: size, SHA-256, revision. Blocks: call it in a thread."""
    file = name.file or pick(_files(name))
    if not file:
        raise ModelError(
            f"{name.repo} has no .gguf file: take a repository whose name ends in -GGUF, or name the file",
            provider="local",
        )
    url = f"{hub_base()}/{name.repo}/resolve/main/{quote(file)}"
    headers = _ask("HEAD", url, name, file).headers
    size = headers.get("x-linked-size") or headers.get("content-length") or ""
    digest = (headers.get("x-linked-etag") or headers.get("etag") or "").removeprefix("W/").strip('"')
    if not size.isdigit() or not _SHA.fullmatch(digest):
        raise ModelError(
            f"the hub gives no size and SHA-256 for {name.repo}/{file}, so it could not be checked: download it "
            "yourself and name its path",
            provider="local",
        )
    commit = headers.get("x-repo-commit") or "main"
    if not _SEGMENT.fullmatch(commit):
        raise ModelError(f"the hub gives {commit[:40]!r} as the revision of {name.repo}", provider="local")
    return Weights(Path(file).stem, name.repo, file, int(size), digest, commit, folder=folder_of(name))


def folder_of(name: HubName) -> str:
    return f"hf/{name.repo}"


def note_of(path: Path) -> Path:
    """Where it is written down what a downloaded file is."""
    return path.with_name(f"{path.name}.json")


def downloaded(name: HubName, models: Path) -> Path | None:
    """The file, if an earlier download is complete."""
    folder = models / folder_of(name)
    files = [name.file] if name.file else [path.relative_to(folder).as_posix() for path in folder.rglob("*.gguf")]
    while file := (name.file if name.file in files else pick(files)):
        path, note = folder / file, note_of(folder / file)
        if path.is_file() and note.is_file() and path.stat().st_size == _noted(note).size:
            return path
        files.remove(file)
    return None


def write_note(path: Path, weights: Weights) -> None:
    note_of(path).write_bytes(msgspec.json.encode(weights))


def notes(models: Path) -> list[tuple[Path, Weights]]:
    """Every file of the hub that is on this machine."""
    found = [(note.with_name(note.name.removesuffix(".json")), note) for note in sorted(models.rglob("*.gguf.json"))]
    return [(path, _noted(note)) for path, note in found if path.is_file()]


def _noted(note: Path) -> Weights:
    try:
        return msgspec.json.decode(note.read_bytes(), type=Weights)
    except (OSError, msgspec.DecodeError):
        return Weights("", "", "", -1, "")


def _files(name: HubName) -> list[str]:
    """List the files of the repository. What a hub lists is not trusted: a name becomes a path in the cache, so one
    that could not be written as `hf:ORG/REPO/FILE.gguf` either is left out."""
    answered = _ask("GET", f"{hub_base()}/api/models/{name.repo}", name, "")
    siblings = answered.fields().get("siblings")
    if not isinstance(siblings, list):
        raise ModelError(f"the hub's list of files of {name.repo} cannot be read", provider="local")
    names = [as_text(as_dict(entry).get("rfilename")) for entry in as_list(siblings)]
    return [listed for listed in names if _stays_below(listed)]


def _ask(method: str, url: str, name: HubName, file: str) -> Answered:
    """Ask the hub itself. A renamed repository is followed, the redirect to where the bytes are is not."""
    from yarl import URL

    origin = Origin("local", url)
    for _ in range(MOST):
        try:
            answered = run_here(
                send(origin, method, url, headers=hub_headers(url), seconds=SECONDS, largest=MAX_LISTING)
            )
        except TransientModelError as error:
            host = urlsplit(url).netloc
            raise ModelError(
                f"the hub ({host}) cannot be reached: {error}; check the network, or set HF_ENDPOINT", provider="local"
            ) from None
        if answered.status >= 400:
            raise ModelError(_refusal(answered.status, name, file), provider="local", status=answered.status)
        try:
            following = Hop(method, URL(url)).after(answered.status, answered.headers.get("location"))
        except RedirectRefused as error:
            raise ModelError(f"the hub cannot be asked: {error}", provider="local") from None
        if following is None or answered.headers.get("x-linked-etag"):
            return answered
        if following.url.origin() != URL(url).origin():
            raise ModelError(
                f"the hub redirects to {following.url.host}, which is not asked: set HF_ENDPOINT to it if you trust it",
                provider="local",
            )
        url = str(following.url)
    raise ModelError(f"the hub redirects {name.repo} again and again", provider="local")


def _refusal(status: int, name: HubName, file: str) -> str:
    if status in (401, 403):
        has = "the token in HF_TOKEN may not read it" if os.environ.get("HF_TOKEN") else "no HF_TOKEN is set"
        return (
            f"the hub does not give {name.repo} to everybody ({status}; {has}), or there is no such repository: check "
            f"the name, accept the licence at {hub_base()}/{name.repo}, and set HF_TOKEN to a token of that account"
        )
    if status == 404:
        what = f"no file {file} in {name.repo}" if file else f"no repository {name.repo}"
        return f"the hub has {what}: look at {hub_base()}/{name.repo}/tree/main for the names"
    return f"the hub returned {status} for {name.repo}: try again later"
