"""The house itself: layers, sizes, public names, style."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "treadle"
LAYERS = [
    ["_types"],
    ["_journal", "_models"],
    ["_dialects"],
    ["_tools"],
    ["_engine"],
    ["_plugins"],
    ["_flows"],
    ["_config", "_durable", "_evals", "_testing"],
    ["_server"],
    ["_cli"],
]
RANK = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}
MAX_LINES = 400


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else ""


def imports_of(path: Path, *, lazy: bool = True) -> list[tuple[int, str]]:
    """What a module imports: `lazy` counts what is imported inside functions, too."""
    found: list[tuple[int, str]] = []
    tree = ast.parse(path.read_text("utf-8"))
    hidden = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for node in ast.walk(block)
    }
    if not lazy:
        hidden |= {
            id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef) for n in ast.walk(f)
        }
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("treadle"):
            found.append((node.lineno, node.module))
            found.extend((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Import):
            found.extend((node.lineno, alias.name) for alias in node.names if alias.name.startswith("treadle"))
    return found


def test_every_room_has_a_layer():
    rooms = {room_of(path) for path in modules()} - {""}
    assert rooms <= set(RANK), f"rooms without a layer: {rooms - set(RANK)}"


def test_imports_only_go_down():
    wrong: list[str] = []
    for path in modules():
        room = room_of(path)
        if not room:
            continue
        for line, name in imports_of(path):
            parts = name.split(".")
            other = parts[1] if len(parts) > 1 else ""
            if other in RANK and other != room and RANK[other] >= RANK[room]:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_no_circles():
    known = {
        ".".join(("treadle", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
        for path in modules()
    }
    graph = {
        name: {other for _, other in imports_of(path, lazy=False) if other in known and other != name}
        for name, path in known.items()
    }
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail[trail.index(name) :], name))
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, (*trail, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())


def test_files_and_functions_stay_small():
    long = [
        f"{path.relative_to(ROOT)}: {count}"
        for path in modules()
        if (count := len(path.read_text("utf-8").splitlines())) > MAX_LINES
    ]
    assert not long, f"files over {MAX_LINES} lines: {long}"
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                size = node.end_lineno - node.lineno + 1
                assert size <= 70, f"{path.relative_to(ROOT)}:{node.lineno} {node.name} has {size} lines"


PUBLIC = set(
    """Agent AnthropicModel Approval Artifact BadReplyError BaseTool Budget BudgetExhaustedError ConfigError
    ContentFilteredError ContextOverflowError Conversation CorruptLogError DagAgent DuplicateToolError GeminiModel
    Journal JournalError KnowledgeBase LimitError LocalModel MaxIterationsError McpConnection McpTools
    MissingExtraError MissingKeyError Model ModelError ModelRegistry OpenAIModel Plugin Prices Profile RepairPolicy
    Reply RequestRefusedError ResponsesModel RetryPolicy Run RunBusyError RunInfo RunNotFoundError RunResult
    SchemaError ScriptedModel ServerSettings Settings Step StructuredCallError TemporalSubmitter Tool ToolContext
    ToolError ToolParam ToolResponse ToolReturn ToolSpec Toolkit TransientModelError TreadleError UnknownModelError
    Usage Variant blame builtin create_app evaluation_report fork load_agent load_tasks make_server open_journal
    plan_diagram presets react_loop replay resolve_model run_tasks serve serve_mcp structured_llm_call
    temporal_worker tool""".split()
)


def test_public_names():
    import treadle

    assert set(dir(treadle)) - {"__version__"} == PUBLIC
    for name in PUBLIC:
        assert getattr(treadle, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = treadle.nothing


def test_import_is_light(tmp_path: Path):
    # With a cache of compiled files of its own: where none may be written, compiling would be measured.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | {
        "PYTHONPYCACHEPREFIX": str(tmp_path)
    }
    code = (
        "import time; t = time.process_time(); import treadle; from treadle import Agent, ScriptedModel, tool; "
        "import sys; heavy = {'aiohttp', 'jsonschema_rs', 'json_repair', 'pydantic', 'rich', 'mcp', 'starlette'}; "
        "heavy &= set(sys.modules); "
        "assert not heavy, heavy; print(time.process_time() - t)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=env)
        for _ in range(5)
    ]
    spent = min(float(done.stdout) for done in runs)
    assert spent < 0.25, f"import takes {spent:.3f} s of CPU"


@pytest.mark.parametrize(
    "command", [["ruff", "check", "."], ["ruff", "format", "--check", "."]], ids=lambda c: " ".join(c)
)
def test_style(command: list[str]):
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_types():
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-4000:]
