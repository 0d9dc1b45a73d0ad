"""The change is what git says: tools whose code it touches are no longer answered for by the log."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from treadle import Agent, ScriptedModel
from treadle._inspect.regress.check import regress
from treadle._inspect.regress.source import Diff
from treadle._journal.memory import MemoryJournal
from treadle._types.errors import ConfigError

FILES = {
    "shop.py": '''
from pathlib import Path

import taxes
from rates import RATE
from treadle import tool

SYSTEM = "Be kind."
POSTAGE = 3
FILE = Path(__file__).parent / "prices.txt"


def net(item):
    return int(FILE.read_text()) * RATE


@tool(effect="pure")
def price(item: str) -> str:
    """What something costs."""
    return str(taxes.gross(net(item)))


@tool
def send(item: str) -> str:
    """Send something."""
    return f"sent for {POSTAGE}"
''',
    "rates.py": "RATE = 2\nOTHER = 5\n",
    "taxes.py": "SHARE = 1\n\n\ndef gross(value):\n    return value * SHARE\n",
    "prices.txt": "20\n",
}
CALLS = [{"name": "price", "args": {"item": "lamp"}}, {"name": "send", "args": {"item": "lamp"}}]


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=folder, check=True)


def program(folder: Path) -> Any:
    for name in ("rates", "taxes", "shop"):
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        assert spec
        assert spec.loader
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        # A file that has changed within a second is not told by its time.
        exec(compile((folder / f"{name}.py").read_text(), str(folder / f"{name}.py"), "exec"), vars(module))
    return sys.modules["shop"]


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "One")
    yield tmp_path
    for name in ("rates", "taxes", "shop"):
        sys.modules.pop(name, None)


def agent(shop: Any, calls: list[Any], **options: Any) -> Agent[Any, Any]:
    return Agent(ScriptedModel([*calls, "Done."]), [shop.price, shop.send], system="Be kind.", **options)


@pytest.mark.parametrize(
    ("file", "old", "new", "verdicts"),
    [
        ("rates.py", "RATE = 2", "RATE = 3", ("affected", "unaffected")),  # a name that is imported
        ("rates.py", "OTHER = 5", "OTHER = 6", ("unaffected", "unaffected")),
        ("taxes.py", "SHARE = 1", "SHARE = 2", ("affected", "unaffected")),  # behind a module
        ("prices.txt", "20", "21", ("affected", "unaffected")),  # a file that the code names
        ("shop.py", "    return int", "    # Before tax.\n    return int", ("unaffected", "unaffected")),
        ("shop.py", "POSTAGE = 3", "POSTAGE = 4", ("unaffected", "unclear")),  # it may not run, and nobody knows
        ("shop.py", '"Be kind."', '"Be brief."', ("unaffected", "unaffected")),  # which no tool uses
    ],
)
async def test_what_the_code_of_a_tool_uses_is_followed(
    file: str, old: str, new: str, verdicts: tuple[str, str], folder: Path
):
    journal, shop = MemoryJournal(), program(folder)
    runs = [(await agent(shop, [call], journal=journal).run("How much?")).run_id for call in CALLS]
    (folder / file).write_text((folder / file).read_text().replace(old, new))
    report = await regress(agent(program(folder), []), runs, journal=journal, since="HEAD", folder=folder)
    assert tuple(one.verdict for one in report.runs) == verdicts
    stubbed = await regress(
        agent(program(folder), []), runs, journal=journal, since="HEAD", folder=folder, stubs={"send": "sent for 3"}
    )
    assert stubbed.runs[1].verdict == "unaffected"


async def test_without_git_the_log_tells_of_the_code_of_the_tool_itself(folder: Path):
    journal, shop = MemoryJournal(), program(folder)
    run = (await agent(shop, CALLS[1:], journal=journal).run("How much?")).run_id
    (folder / "shop.py").write_text(FILES["shop.py"].replace("sent for", "gone for"))
    (one,) = (await regress(agent(program(folder), []), [run], journal=journal)).runs
    assert (one.verdict, one.why) == ("unclear", "the code of send has changed, and it may not run")


def test_what_git_refuses_is_said(folder: Path):
    with pytest.raises(ConfigError, match=r"git: .*nowhere"):
        Diff.since("nowhere", folder)
    with pytest.raises(ConfigError, match="no revision"):
        Diff.since("--output=x", folder)
