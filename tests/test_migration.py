"""The migration pages: both programs of each page give the same answer.

Ours always run. Those of the other engines run in `.venv/peers`, which `python3 tasks.py peers` makes: they are no
dependencies of ours, and need more room than all of ours together.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from programs import python

ROOT = Path(__file__).resolve().parent.parent
DESCRIBED = ("two_phase", "streaming", "executor", "graph", "code_agent")
"""Pages for those who come from an engine as one of the descriptions has it."""
PAGES = sorted(path for path in (ROOT / "docs" / "migrate").glob("*.md") if path.stem not in ("index", *DESCRIBED))
BLOCK = re.compile(r'^```python title="([^"]+)"\n(.*?)^```', re.DOTALL | re.MULTILINE)
PEERS = ROOT / ".venv" / "peers" / "bin" / "python"


def benchmark(name: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        return importlib.import_module(name)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    stub = benchmark("openai_stub")
    server = stub.make_stub()
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield stub.address_of(server)
    server.shutdown()
    server.server_close()
    thread.join()


def programs(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text("utf-8"))


def printed(python: list[str], program: str, address: str, folder: Path) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "TREADLE_STATE": str(folder)}
    env |= {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "sk-not-a-real-key-at-all"}
    file = folder / "program.py"  # smolagents reads the source of a tool
    file.write_text(program, "utf-8")
    done = subprocess.run([*python, str(file)], cwd=folder, capture_output=True, text=True, timeout=110, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def expected(page: Path) -> str:
    return "Quote(item='lamp', dollars=40.0)" if page.stem == "pydantic_ai" else "The lamp costs 40 dollars."


def shown(text: str) -> str:
    """What a program printed; pydantic prints a value's fields and we its repr, which are the same thing."""
    return "Quote(item='lamp', dollars=40.0)" if text == "item='lamp' dollars=40.0" else text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_ours(page: Path, address: str, tmp_path: Path):
    (_, _), (name, program) = programs(page)
    assert name == "Treadle"
    output = printed(python(), program, address, tmp_path)
    assert output == expected(page)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_other_engine_where_it_is_installed(page: Path, address: str, tmp_path: Path):
    if not PEERS.exists():
        pytest.skip("python3 tasks.py peers installs the other engines")
    assert shown(printed([str(PEERS)], programs(page)[0][1], address, tmp_path)) == expected(page)


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_program_of_a_described_engine_runs_with_its_shim_and_without(
    name: str, address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    blocks = dict(programs(ROOT / "docs" / "migrate" / f"{name}.md"))
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key-at-all")
    shim = types.ModuleType("shim")
    monkeypatch.setitem(sys.modules, "shim", shim)
    if "shim.py" in blocks:
        assert len(blocks["shim.py"].splitlines()) <= 40
        exec(compile(blocks["shim.py"], "shim.py", "exec"), shim.__dict__)
    before: dict[str, Any] = {"__name__": "before"}
    exec(compile(blocks["Before"], "before", "exec"), before)
    own = before if name == "graph" else {"__name__": "after"}
    exec(compile(blocks["Treadle"], "after", "exec"), own)
    shown = [line for line in capsys.readouterr().out.splitlines() if line]
    assert shown == ["The lamp costs 40 dollars."] * (1 if name == "graph" else 2)


def test_each_of_the_four_has_a_page():
    assert [page.stem for page in PAGES] == ["langgraph", "openai_agents", "pydantic_ai", "smolagents"]


def test_the_server_on_loopback_asks_for_the_call_whatever_a_system_prompt_says():
    chat = benchmark("openai_stub").chat
    prompt = {"role": "system", "content": "You get an Observation after each call."}
    tools = [{"type": "function", "function": {"name": "price"}}]
    [choice] = chat({"messages": [prompt, {"role": "user", "content": "What does the lamp cost?"}], "tools": tools})[
        "choices"
    ]
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "price"


@pytest.mark.parametrize(("modes", "effects"), [(("ask", "decide"), (0, 1)), (("killed", "again"), (1, 1))])
def test_what_the_readme_says_of_us_beside_others(modes: tuple[str, str], effects: tuple[int, int], address: str):
    """That the others do as it says is shown by `python3 tasks.py peers`."""
    *counted, said = benchmark("behaviour").effects_of(sys.executable, "treadle_program.py", modes, address)
    assert (tuple(counted), said) == (effects, "The lamp costs 40 dollars.")


def test_every_engine_of_the_table_has_its_program():
    programs = benchmark("behaviour").PROGRAMS
    assert set(programs) == set(benchmark("compare").ENGINES)
    assert all((ROOT / "benchmarks" / "others" / name).exists() for name in programs.values())
