"""The house itself: layers, sizes, public names, style."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from import_graph import Import, circles, import_graph, module_names, nodes, shortest_circle
from script_modules import load_script

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
SOURCE = ROOT / "src" / "treadle"
PUBLIC_MODULES = ["", "events", "interop", "messages", "plugins", "testing"]
LAYERS = [
    ["_version", "_lazy", "_python_process"],
    ["_types"],
    ["_safety"],
    ["_view"],
    ["_journal", "_models"],
    ["_dialects"],
    ["_tools"],
    ["_engine"],
    ["_plugins"],
    ["_workspace"],
    ["_agent"],
    ["_flows"],
    ["_local"],
    ["_inspect"],
    ["_config", "_durable", "_testing"],
    ["_record"],
    ["_interop"],
    ["_server"],
    PUBLIC_MODULES,
    ["_cli"],
    ["__main__"],
]
"""From the bottom up; "" is the top level itself."""
RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}
MAX_LINES = 600
MAX_FUNCTION_LINES = 70
MAX_FILES_PER_FOLDER = 25


@pytest.fixture(scope="module")
def arrows() -> list[Import]:
    return import_graph(SOURCE)


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def part_of(module: str) -> str:
    """The layer's part a module belongs to: the name after `treadle.`."""
    return (module.split(".") + [""])[1]


def test_every_module_has_a_layer():
    parts = {part_of(name) for name in module_names(SOURCE)}
    assert parts <= RANK.keys(), f"without a layer: {parts - RANK.keys()}"


def test_imports_only_go_down(arrows: list[Import]):
    """Also those for type checking and those inside functions."""
    wrong: list[str] = []
    for arrow in arrows:
        above, below = part_of(arrow.source), part_of(arrow.target)
        if above != below and RANK[below] >= RANK[above] and not {above, below} <= set(PUBLIC_MODULES):
            wrong.append(f"{arrow.source}, line {arrow.line}, imports {arrow.target}")
    assert not wrong, "\n".join(wrong)


def test_no_import_circles(arrows: list[Import]):
    """A package's `__init__` may hand out names of its modules; then none of them may import the package itself."""
    assert not circles(arrows), "\n".join(
        "imports go in a circle: "
        + ", ".join(f"{a.source} imports {a.target} (line {a.line})" for a in shortest_circle(group, arrows))
        for group in circles(arrows)
    )


def test_no_package_exceeds_its_allowance_of_words():
    """Here, where all files are parsed; tests/test_words.py tests how they are counted."""
    words = load_script("words")
    problems = words.excess(words.count_words(nodes_of=nodes), words.load_allowed())
    assert problems == [], "\n".join(problems)


def test_files_stay_small():
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in modules()}
    too_long = {path: length for path, length in lengths.items() if length > MAX_LINES}
    assert not too_long, f"files over {MAX_LINES} lines: {too_long}"


def test_functions_stay_small():
    too_long: dict[str, int] = {}
    for path in modules():
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                size = node.end_lineno - node.lineno + 1
                if size > MAX_FUNCTION_LINES:
                    too_long[f"{path.relative_to(ROOT).as_posix()} {node.name}"] = size
    assert not too_long, f"functions over {MAX_FUNCTION_LINES} lines: {too_long}"


def test_folders_stay_small():
    counts = Counter(path.parent.relative_to(ROOT).as_posix() for path in modules() if path.name != "__init__.py")
    full = {folder: count for folder, count in counts.items() if count > MAX_FILES_PER_FOLDER}
    assert not full, f"more than {MAX_FILES_PER_FOLDER} modules side by side: {full}"


MIRRORED = ["_types", "_safety", "_dialects", "_engine", "_plugins", "_agent", "_flows", "_local"]
"""Here each module has a test file of its own; elsewhere each folder of the source has its folder of tests."""
WITHOUT_LOGIC: dict[str, str] = {
    "_engine/core/blueprint.py": "two frozen values without a method",
    "_types/dag_events.py": "values without a method; tests/types/test_state.py folds them",
    "_types/workspace_events.py": "values without a method; tests/workspace/test_workspace.py folds them",
    "_local/dialects/prompts.py": "texts; tests/dialects/test_prompts_of_no_task.py reads them",
    "_local/weights/recommended.py": "a table; tests/local/weights/test_hub.py checks it",
}
"""Modules that need no test file, and why."""


def mirror_folder(source: Path) -> Path:
    """Where the tests of a source folder are: the same folders without the underscore that makes them private."""
    return TESTS.joinpath(*(part.removeprefix("_") for part in source.relative_to(SOURCE).parts))


def test_tests_mirror_the_source():
    missing: list[str] = []
    for path in modules():
        name = path.relative_to(SOURCE).as_posix()
        if name.partition("/")[0] in MIRRORED and path.name != "__init__.py" and name not in WITHOUT_LOGIC:
            expected = mirror_folder(path.parent) / f"test_{path.stem.removeprefix('_')}.py"
            if not expected.exists():
                missing.append(expected.relative_to(ROOT).as_posix())
    assert not missing, f"modules without a test file: {missing}"
    assert all((SOURCE / name).exists() for name in WITHOUT_LOGIC), "a module in WITHOUT_LOGIC is gone"


def test_every_source_folder_has_a_folder_of_tests():
    folders = sorted({path.parent for path in modules() if path.name != "__init__.py"} - {SOURCE})
    missing = [
        mirror_folder(folder).relative_to(ROOT).as_posix()
        for folder in folders
        if not list(mirror_folder(folder).glob("test_*.py"))
    ]
    assert not missing, f"no tests in: {missing}"


ABOUT_SMALL_MODELS = re.compile(
    r"(?i)(?<![a-z])(?:tiny|(?:un)?taught|loras?|adapters?)(?![a-z])"
    r"|(?<![a-z])small(?:er|est)?[\s_-]+(?:\w+[\s_-]+)?models?(?![a-z])"
    r"|\bmodels?\s+(?:is|are)\s+(?:\w+\s+)?small|\bsmall\s+the\s+model|\.small\b"
)
PUBLIC_FACTS = {"_types/profile.py": {"tiny", "adapter"}}
"""Facts about a model that programs and stored profiles name since 0.1; what they mean is said without these words."""


def words_about_small_models(path: str, text: str) -> list[str]:
    """What a file of the source says about small models, in code, comments and docstrings."""
    words = [found[0] for found in ABOUT_SMALL_MODELS.finditer(f"{path}\n{text}")]
    return [word for word in words if word.lower() not in PUBLIC_FACTS.get(path, ())]


def test_only_one_room_knows_small_models():
    """Whatever is about them stands in `_local`, behind the reply policy and other entry points."""
    paths = {path.relative_to(SOURCE).as_posix(): path for path in modules()}
    named = {
        name: words
        for name, path in paths.items()
        if not name.startswith("_local/") and (words := words_about_small_models(name, path.read_text("utf-8")))
    }
    assert not named, "outside of _local: " + "; ".join(f"{name}: {words}" for name, words in named.items())
    for name, facts in PUBLIC_FACTS.items():
        assert facts <= {found[0] for found in ABOUT_SMALL_MODELS.finditer(paths[name].read_text("utf-8"))}


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("# a small model stops here", True),
        ("for smaller local\n    models", True),
        ("if profile.small and state.steps:", True),
        ("from treadle._plugins.small_models import support", True),
        ("TINY_BELOW = 1.0", True),
        ("options['lora'] = adapter_scale(request)", True),
        ("def untaught(run):", True),
        ("TypeAdapter(kind).validate_python(value)", False),
        ("mistral-small-latest", False),
        ("a small file per model", False),
        ("make the context smaller", False),
        ("explorations of destiny", False),
    ],
)
def test_words_about_small_models_are_found(text: str, about: bool):
    assert bool(words_about_small_models("_engine/loop/turn.py", text)) is about


def test_one_version():
    """`_version.py` is the only place: the package's metadata are built from it."""
    import treadle

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" not in settings["project"]
    assert settings["project"]["dynamic"] == ["version"]
    assert settings["tool"]["hatch"]["version"]["path"] == "src/treadle/_version.py"
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    released = [name for name in re.findall(r"^## (\S+)", changes, re.MULTILINE) if name != "Unreleased"]
    assert released[0] == treadle.__version__


PUBLIC = set(
    """Agent AnswerDelta AnswerSettings AnthropicModel Approval Artifact BadReplyError BaseTool BatchAnswer BatchState
    BedrockModel Budget
    BudgetExhaustedError ConfigError ContentFilteredError ContextOverflowError ContextSettings Conversation
    CorruptLogError DagAgent DuplicateToolError Event GeminiModel GuardrailError Journal JournalError KnowledgeBase
    LimitError LocalModel LoopResult MaxIterationsError McpAuth McpConnection McpPeer McpPrompt McpResource McpServer
    McpTools MissingExtraError MissingKeyError Model
    ModelError ModelRegistry ModelSettings OpenAIModel PendingCall Plugin Prices Profile RepairPolicy Reply
    RequestRefusedError ResponsesModel RetryPolicy Run RunBusyError RunContext RunEndedError RunFinished RunInfo
    RunLimits RunNotFoundError RunResult SchemaError ScriptedModel ServerSettings Settings SharedBudget Step
    StructuredCallError
    StructuredResult TemporalSubmitter Tool ToolContext ToolDone ToolError ToolParam ToolResponse ToolReturn
    ToolSettings ToolSpec ToolStarted Toolkit TransientModelError TreadleError TreeError UnknownModelError Usage
    Variant VertexModel Workspace blame builtin compare create_app evaluation_report external_tool fork load_agent
    load_tasks make_server
    open_journal plan_diagram prefixes presets react_loop replay resolve_model run_tasks serve serve_mcp
    structured_llm_call Skill load_skills
    Verdict prove_answer verify_proof
    Causes Change find_causes mark_wrong regress
    Extra extract_json NotAModelError RunError WrongValueError
    temporal_worker tool""".split()
)


def test_public_names():
    import treadle

    assert set(dir(treadle)) - {"__version__", *PUBLIC_MODULES} == PUBLIC
    for name in PUBLIC:
        assert getattr(treadle, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = treadle.nothing  # pyright: ignore


def modules_loaded_by(code: str) -> set[str]:
    program = f"import sys; before = set(sys.modules); {code}; print(*sorted(sys.modules.keys() - before))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_import_is_light():
    """By what is loaded; the time it takes is in tests/test_overhead.py."""
    assert len([name for name in modules_loaded_by("import treadle") if name.startswith("treadle")]) <= 3
    loaded = modules_loaded_by("from treadle import Agent, OpenAIModel, ScriptedModel, tool")
    outside = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names
    assert outside <= {"treadle", "msgspec", "typing_extensions"}
    assert not loaded & {"asyncio", "logging", "aiohttp"}, "only a run needs them"
    assert len(loaded) < 170, "an agent needs fewer modules"


def test_a_run_without_a_reply_policy_loads_nothing_of_the_room():
    code = (
        "from treadle import Agent, OpenAIModel, ScriptedModel, builtin; OpenAIModel('gpt-5', api_key='none'); "
        "Agent(ScriptedModel(['42']), [builtin('calculator')]).run_sync('What is 6 * 7?')"
    )
    loaded = modules_loaded_by(code)
    assert "treadle._engine.loop.turn" in loaded
    assert not [name for name in loaded if name.startswith("treadle._local")]


STARTS_A_PROCESS = {
    *(("subprocess", name) for name in ("run", "Popen", "call", "check_call", "check_output")),
    ("asyncio", "create_subprocess_exec"),
}
STARTS_A_SHELL = {
    ("os", "system"),
    ("os", "popen"),
    ("asyncio", "create_subprocess_shell"),
    ("subprocess", "getoutput"),
}


def dotted(node: ast.AST) -> tuple[str, str]:
    """The two names of `subprocess.run`; of other expressions, empty ones."""
    named = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return (node.value.id, node.attr) if named else ("", "")  # pyright: ignore


def unsafe_start(node: ast.AST) -> str:
    """What is wrong with how a process is started here; empty for everything else."""
    if isinstance(node, ast.List | ast.Tuple) and node.elts and dotted(node.elts[0]) == ("sys", "executable"):
        option = node.elts[1] if len(node.elts) > 1 else None
        safe = isinstance(option, ast.Constant) and option.value in ("-I", "-P")
        return "" if safe else "the first option of Python must be -I or -P (treadle._python_process)"
    if isinstance(node, ast.Call):
        if dotted(node.func) in STARTS_A_SHELL:
            return "this starts a shell"
        if dotted(node.func) in STARTS_A_PROCESS and not any(keyword.arg == "cwd" for keyword in node.keywords):
            return "the process needs a folder: cwd=SAFE_FOLDER (treadle._python_process)"
    return ""


def test_processes_do_not_import_from_the_current_folder():
    wrong = [
        f"{path.relative_to(ROOT).as_posix()}, line {node.lineno}: {problem}"  # pyright: ignore
        for path in modules()
        if "subprocess" in (text := path.read_text("utf-8")) or "sys.executable" in text
        for node in nodes(path)
        if (problem := unsafe_start(node))
    ]
    assert not wrong, "\n".join(wrong)
    assert not [path.name for path in modules() if "import multiprocessing" in path.read_text("utf-8")]


@pytest.mark.parametrize(
    ("code", "safe"),
    [
        ("[sys.executable, '-m', 'pip']", False),
        ("[sys.executable, '-P', '-m', 'pip']", True),
        ("subprocess.run(command)", False),
        ("subprocess.run(command, cwd=SAFE_FOLDER)", True),
        ("asyncio.create_subprocess_shell('ls')", False),
        ("asyncio.run(main())", True),
    ],
)
def test_unsafe_starts_are_found(code: str, safe: bool):
    assert [bool(unsafe_start(node)) for node in ast.walk(ast.parse(code))].count(True) == (0 if safe else 1)
