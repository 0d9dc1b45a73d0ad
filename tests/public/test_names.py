"""The public boundary: which names there are, that each is what it says, and that nobody is sent past it."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "treadle"
MODULES = ("treadle", "treadle.events", "treadle.interop", "treadle.messages", "treadle.plugins", "treadle.testing")
READ_BY_USERS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").glob("*.py"))]

PLUGINS = set(
    """Approval BackgroundAgents Citations CodeMode ContextGuard Decision ExampleValueGuard GiveUpGuard Guardrail
    HistoryTrim Judge forbid_patterns matches model_judge on_topic LoopGuard McpTools Memory MemoryStore Observer
    Paging Pause PersonalData Research
    Planner Plugin QuestionRewrite Reflection RunContext TaskAnalysis Telemetry Skills ToolSearch ToolOutcome
    ToolSelection UnsourcedValueGuard Dialect Encoding TextDialect add_dialect""".split()
)
MESSAGES = set(
    """AssistantMessage AudioPart CallDelta Content Delta FilePart Finish ImagePart MediaPart Message attach
    OutputFormat Part RawCall ReasoningDelta Reply
    Request StreamPart SystemMessage TextDelta TextPart ToolCall ToolMessage ToolSchema UserMessage WireCache
    text_of""".split()
)
TESTING = set(
    "Exchange FunctionModel ScriptedModel TestModel TrafficPlayer TrafficRecorder assert_answered assert_called "
    "assert_export_replays assert_not_called assert_prefix_stable assert_tools assert_replays load_traffic".split()
)
OLD_NAMES = {"McpConnection": "McpServer"}
NOT_EVENTS = set(
    "Act Artifact Event LedgerEntry PlanStep PlannedStep Record Sent StopReason TRANSIENT TreeChanges decode_event "
    "encode_event".split()
)


def names_of(module: str) -> list[str]:
    loaded = importlib.import_module(module)
    return [*loaded.__all__, *getattr(loaded, "_NEEDS_EXTRA", ())]


@pytest.mark.parametrize(
    ("module", "names"), [("treadle.plugins", PLUGINS), ("treadle.messages", MESSAGES), ("treadle.testing", TESTING)]
)
def test_names(module: str, names: set[str]):
    assert set(importlib.import_module(module).__all__) == names


def test_every_name_of_0_2_is_still_there():
    for entry in re.split(r"\n(?=treadle)", (ROOT / "tests" / "data" / "names_0_2.txt").read_text("utf-8")):
        module, names = entry.split(":")
        loaded = importlib.import_module(module)
        assert [name for name in names.split() if not hasattr(loaded, name)] == []


def test_every_event_is_public():
    events = importlib.import_module("treadle.events")
    assert set(events.__all__) == {kind.__name__ for kind in get_args(events.Event)} | NOT_EVENTS


@pytest.mark.parametrize("module", MODULES)
def test_every_name_can_be_imported(module: str):
    loaded = importlib.import_module(module)
    for name in names_of(module):
        value = getattr(loaded, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__name__ == OLD_NAMES.get(name, name)
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'nothing'"):
        _ = loaded.nothing


@pytest.mark.parametrize("module", ["treadle", "treadle.plugins", "treadle.testing"])
def test_type_checkers_see_the_names_that_exist(module: str):
    """The imports under TYPE_CHECKING and the table of lazy imports say the same."""
    loaded = importlib.import_module(module)
    tree = ast.parse(inspect.getsource(loaded))
    typed: dict[str, str] = {}
    for node in ast.walk(tree):
        private = (getattr(node, "module", None) or "").removeprefix("treadle.")
        if (
            isinstance(node, ast.ImportFrom)
            and private.startswith("_")
            and private not in ("__future__", "_lazy", "_version")
        ):
            for alias in node.names:
                assert alias.asname == alias.name, f"{alias.name} is not re-exported"
                typed[alias.name] = private
    table: dict[str, str] = loaded._LAZY_IMPORTS | getattr(loaded, "_NEEDS_EXTRA", {})
    assert typed == {n: at.removesuffix(f".{n}:") for n, at in table.items()}


def test_a_star_import_needs_no_extra():
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('starlette', 'uvicorn', 'temporalio', 'mcp', 'rich', 'yaml'):\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from treadle import *\n"
        "from treadle.plugins import *\n"
        "from treadle.testing import *\n"
        "import treadle\n"
        "assert Agent is treadle.Agent\n"
        "try: treadle.serve\n"
        "except MissingExtraError as error: assert 'treadle[server]' in str(error)\n"
        "else: raise SystemExit('serve came without the extra')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def imports(code: str) -> list[str]:
    """Every `treadle` module that code imports, and every name it imports from one."""
    modules: list[str] = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "treadle":
            modules += [f"{node.module} {alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules += [f"{alias.name} " for alias in node.names if alias.name.partition(".")[0] == "treadle"]
    return modules


def test_everything_imported_in_docs_and_examples_is_public():
    private: list[str] = []
    seen = 0
    for path in READ_BY_USERS:
        text = path.read_text("utf-8")
        blocks = (
            [text] if path.suffix == ".py" else re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        )
        for imported in (line for block in blocks for line in imports(block)):
            module, _, name = imported.partition(" ")
            seen += 1
            if module not in MODULES or (name and name not in names_of(module)):
                private.append(f"{path.relative_to(ROOT)}: {imported}")
    assert not private, "\n".join(private)
    assert seen > 50


@pytest.mark.parametrize("folder", ["README.md", "docs/tutorial", "docs/howto"])
def test_users_are_never_sent_to_a_private_module(folder: str):
    start = ROOT / folder
    for path in sorted(start.rglob("*.md")) if start.is_dir() else [start]:
        assert not re.findall(r"treadle\._\w+", path.read_text("utf-8")), path.name


def documented(value: Any) -> bool:
    text = (value.__dict__.get("__doc__") if isinstance(value, type) else getattr(value, "__doc__", "")) or ""
    return bool(text.strip()) and not text.startswith(f"{getattr(value, '__name__', '')}(")


@pytest.mark.parametrize("module", MODULES)
def test_every_class_and_function_says_what_it_is(module: str):
    loaded = importlib.import_module(module)
    values = {name: getattr(loaded, name) for name in names_of(module)}
    described = {name: value for name, value in values.items() if inspect.isclass(value) or inspect.isroutine(value)}
    silent = [name for name, value in described.items() if not documented(value)]
    assert not silent, f"{module}: no docstring: {', '.join(silent)}"


def test_the_reference_has_every_name():
    page = (ROOT / "docs" / "reference" / "api.md").read_text("utf-8")
    events = (ROOT / "docs" / "reference" / "events.md").read_text("utf-8")
    for module in MODULES:
        section = page.partition(f"\n## {module}\n")[2].partition("\n## treadle")[0]
        section += events.replace("\n## ", "\n### ") if module == "treadle.events" else ""
        missing = [
            name for name in names_of(module) if f"\n### {name}\n" not in section and f"[`{name}`](" not in section
        ]
        assert not missing, f"{module}: {', '.join(missing)}"


def test_the_reference_has_what_a_plug_in_offers_beside_its_hooks():
    from treadle import plugins

    page = (ROOT / "docs" / "reference" / "api.md").read_text("utf-8").partition("\n## treadle.plugins\n")[2]
    offered: dict[str, list[str]] = {}
    for name in names_of("treadle.plugins"):
        kind = getattr(plugins, name)
        if isinstance(kind, type) and plugins.Plugin in kind.__bases__:
            own = [each for each in vars(kind) if callable(getattr(kind, each)) and not each.startswith("_")]
            offered[name] = [each for each in own if not hasattr(plugins.Plugin, each)]
    assert offered["PersonalData"] == ["forget"]
    for name, own in offered.items():
        section = page.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
        assert not section or [each for each in own if f"{each}(" not in section] == [], name


def test_everything_else_is_private_by_name():
    names = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.name != "__pycache__"}
    public = {name for name in names if not name.startswith("_")}
    assert public == {module.rpartition(".")[2] for module in MODULES[1:]} | {"py.typed"}
