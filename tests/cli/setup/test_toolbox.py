"""Tools by the names a user types."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.terminal import Inside, call, environment, open_gate, script
from treadle._cli.setup.toolbox import source_files


def test_tools_by_name_module_and_file_with_parameters(home: Path, inside: Inside):
    (home / "docs").mkdir()
    (home / "docs" / "note.txt").write_text("the word is xyzzy\n")
    open_gate(home, "a")
    model = script(home, [call("read_file", path="note.txt"), call("gate", name="a"), call("erase", path="a")], "xyzzy")
    done = inside("run", "q", "-m", model, "-t", "files,folder=docs", "-t", "mytools:gate,mytools.py:erase", "--yes")
    assert done.code == 0, done.err
    assert "the word is xyzzy" in done.err
    assert "waiting at a" in done.err
    assert (home / "erased.txt").read_text() == "a\n"
    assert inside("run", "q", "-m", script(home, call("write_file", path="x", text="y"), "no"), "-t", "files").code == 0
    assert not (home / "x").exists(), "files are only read unless writing is asked for"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        pytest.param("def f(x) -> str\n    return x\n", "syntax error in {file}, line 1: expected ':'", id="syntax"),
        pytest.param("\nx = [\n", "syntax error in {file}, line 2", id="unclosed"),
        pytest.param("import nowhere_to_be_found\n", "{file}, line 1: No module named 'nowhere_to", id="import"),
        pytest.param("\n\nx = 1 / 0\n", "{file}, line 3: ZeroDivisionError: division by zero", id="raises"),
        pytest.param("raise SystemError\n", "{file}, line 1: SystemError", id="no-words"),
    ],
)
@pytest.mark.parametrize("named", ["broken.py:f", "broken:f"])
def test_a_broken_tool_file_is_told_as_such(home: Path, inside: Inside, source: str, says: str, named: str):
    file = home / "broken.py"
    file.write_text(source)
    sys.modules.pop("broken", None)
    done = inside("run", "q", "-m", script(home, "x"), "-t", named)
    assert done.code == 2
    assert says.format(file=file) in done.err
    assert "internal error" not in done.err
    assert len(done.err.splitlines()) == 1


def test_the_files_that_tools_are_from():
    named = ["calculator,a.py:one, b.py:two.three", "files,folder=c.py", "module:four"]
    assert source_files(named) == ["a.py", "b.py"]


def test_a_file_inside_a_broken_one_is_named(home: Path, inside: Inside):
    (home / "outer.py").write_text("import inner_part\n")
    (home / "inner_part.py").write_text("x = 1\ny = x.nothing\n")
    done = inside("run", "q", "-m", script(home, "x"), "-t", "outer.py:f")
    assert f"{home / 'inner_part.py'}, line 2: AttributeError" in done.err


def test_a_file_without_the_name_of_a_tool(home: Path, inside: Inside):
    model = script(home, "x")
    done = inside("run", "q", "-m", model, "-t", "mytools.py")
    assert done.code == 2
    assert "mytools.py is a file: say which tool of it, as in mytools.py:erase; its tools are: erase, gate," in done.err
    (home / "empty.py").write_text("")
    assert "empty.py:NAME; it has no tool" in inside("run", "q", "-m", model, "-t", "empty.py").err
    (home / "broken.py").write_text("def f(:")
    assert f"syntax error in {home / 'broken.py'}, line 1" in inside("run", "q", "-m", model, "-t", "broken.py").err
    assert "there is no file" in inside("run", "q", "-m", model, "-t", "nowhere.py").err


@pytest.mark.parametrize("wrong", ["datetimee", "xyzzy"])
def test_the_error_knows_every_tool_that_is_listed(home: Path, inside: Inside, wrong: str):
    listed = {line.split()[0] for line in inside("tools").out.split("\n\n")[0].splitlines()[2:]}
    done = inside("run", "q", "-m", script(home, "x"), "-t", wrong)
    assert "did you mean 'datetime'" in done.err if wrong == "datetimee" else all(name in done.err for name in listed)
    params = {"preset": "default", "tools": [{"component_name": "datetime"}]}
    document = {"components": {"Agent:A": {"obj": {"component_name": "Agent", "params": params}}}}
    (home / "agent.json").write_text(json.dumps(document))
    assert inside("run", "q", "-m", script(home, "x"), "-f", "agent.json").code == 0


MISSING = [
    (("serve", "-m", "MODEL", "--port", "0"), "uvicorn", "server"),
    (("worker", "-m", "MODEL", "--journal", "postgres://u@h/d"), "temporalio", "temporal"),
    (("submit", "q", "--journal", "postgres://u@h/d"), "temporalio", "temporal"),
    (("runs", "list", "--journal", "postgres://u@h/d"), "asyncpg", "postgres"),
    (("mcp", "serve", "-t", "calculator"), "mcp", "mcp"),
    (("run", "q", "-m", "local:qwen2.5-coder-0.5b"), "xllamacpp", "local"),
    (("config", "check", "agent.yaml"), "yaml", "yaml"),
    (("run", "q", "-m", "MODEL", "-t", "sql,url=duckdb:///x.db"), "duckdb", "duckdb"),
]


WITHOUT = """
import contextlib, io, json, sys
modules, commands = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(modules))
from treadle._cli.main import main
for command in commands:
    with contextlib.redirect_stderr(io.StringIO()) as said:
        code = main(command)
    print(json.dumps([code, said.getvalue()]))
"""


def test_a_missing_extra_says_how_to_install_it(home: Path):
    (home / "agent.yaml").write_text("components: {}\n")
    model = script(home, "x")
    commands = [[model if word == "MODEL" else word for word in arguments] for arguments, _, _ in MISSING]
    given = json.dumps([[module for _, module, _ in MISSING], commands])
    command = [sys.executable, "-c", WITHOUT, given]
    done = subprocess.run(command, cwd=home, env=environment(home), capture_output=True, text=True)
    for line, (_, _, extra) in zip(done.stdout.splitlines(), MISSING, strict=True):
        code, said = json.loads(line)
        assert (code, f'pip install "treadle[{extra}]"' in said) == (2, True), said
        assert "internal error" not in said
