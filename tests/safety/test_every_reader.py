"""Every place that reads what a person or a stranger wrote uses the bounded reader, and its error says which file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from treadle import ConfigError, load_agent, load_tasks
from treadle._cli.commands.serve import tokens_from
from treadle._cli.setup.toolbox import value_of
from treadle._cli.setup.user_config import read_user_config
from treadle._flows.dag.plan import Plan
from treadle._models.script_file import scripted_model
from treadle._testing.traffic import load_traffic

SOURCE = Path(__file__).resolve().parent.parent.parent / "src" / "treadle"
DEEP = "[" * 5_000 + "]" * 5_000
TWICE = '{"id": "a", "id": "b", "kind": "k", "question": "q", "check": {"max_steps": 1}}'


READERS: dict[str, tuple[str, Callable[[str], object]]] = {
    "an agent in JSON": ("a.json", load_agent),
    "an agent in YAML": ("a.yaml", load_agent),
    "tasks": ("a.jsonl", load_tasks),
    "a plan": ("plan.json", Plan.load),
    "a scripted model": ("script.json", scripted_model),
    "recorded traffic": ("traffic.jsonl", load_traffic),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("text", [DEEP, TWICE], ids=["deep", "twice"])
def test_bombs_and_names_that_stand_twice_are_refused(name: str, text: str, tmp_path: Path):
    file, read = READERS[name]
    (tmp_path / file).write_text(text)
    with pytest.raises(ConfigError, match=r"inside each other|stands twice"):
        read(str(tmp_path / file))


def test_an_agent_of_aliases_is_refused_at_once(tmp_path: Path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    (tmp_path / "bomb.yaml").write_text("agent:\n" + "\n".join(f"  {line}" for line in lines))
    with pytest.raises(ConfigError, match=r"bomb.yaml cannot be read as YAML: more than 50000 values(.|\n)*line \d"):
        load_agent(str(tmp_path / "bomb.yaml"))


@pytest.mark.parametrize("text", ["a = " + DEEP, b"\xff\xfe".decode("latin-1"), "a = " + "1" * 9_000])
def test_the_users_config(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "config.toml"
    path.write_bytes(text.encode("latin-1"))
    monkeypatch.setenv("TREADLE_CONFIG", str(path))
    with pytest.raises(ConfigError, match="config file"):
        read_user_config()


def test_parameters_on_the_command_line():
    assert value_of(DEEP) == DEEP
    assert value_of("[1, 2]") == [1, 2]


def test_a_token_of_two_users_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TREADLE_TOKEN", raising=False)
    (tmp_path / "tokens").write_text("ada one-long-token\nbob one-long-token\n")
    with pytest.raises(ConfigError, match="line 2: the token of bob is already another user's"):
        tokens_from(str(tmp_path / "tokens"))
    with pytest.raises(ConfigError, match="cannot be read"):
        tokens_from(str(tmp_path / "missing"))


def test_line_ends_of_other_kinds_stand_inside_a_task(tmp_path: Path):
    (tmp_path / "t.jsonl").write_text(
        '{"id": "a", "kind": "k", "question": "one\u2028two", "check": {"max_steps": 1}}\n'
    )
    assert load_tasks(tmp_path / "t.jsonl").tasks[0].question == "one\u2028two"


def test_nobody_else_reads_yaml_or_toml():
    readers = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(r"^\s*(import|from) (yaml|tomllib)\b", path.read_text("utf-8"), re.MULTILINE)
    }
    assert readers == {"_safety/data.py", "_safety/yaml_loader.py"}
