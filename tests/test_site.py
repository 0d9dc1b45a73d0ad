"""The site: generated pages match the code, pages are reachable, foreign names are mapped, the build is strict."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from test_house import LAYERS
from web.conftest import CHROMIUM

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md"))
PICTURE = re.compile(r"\]\((?:[./\w]*/)?images/([\w-]+\.\w+)\)")
FOREIGN_NAMES = """stream_answer extract_json StructuredCallResult use_native_tools structured_llm_call ReActAgent
AgentResult ToolRegistry ModelRegistry model_hint ContextGuard interrupt_queue InterruptQueue
max_iterations TOOL_SELECTION_THRESHOLD pinned parse_fn regex_fallback default_value
reasoning_content ReActConfig RetryPolicy max_parse_retries max_tool_errors backoff_sec
max_new_tokens allow_input_pruning repair_with_llm skip_special_tokens specific_instructions
stop_generation update_toolkit Toolkit BaseTool ToolSpec ToolParam ToolReturn ToolResponse
check_inputs extras final_answer verbose react_loop PatternResult Provider ToolCallingProvider
max_rounds max_cost TokenUsage tool_timeout max_history_messages max_observation_chars DEFAULT_RETRY
MaxIterationsError BudgetExhaustedError analyze_task next_step reflect COMPLETE_TASK full_question
rank_memories tool_call_summary add_memory get_useful_memory use_tools user_defined_prompt llm_id
sys_prompt check_if_canceled AgentPlan ObserverResponse ReActChatMessage CodeActAgent create_plan
update_plan observe salvage_response summarize_progress_on_failure MAX_RESPONSE_PARSING_ATTEMPTS
task_successful""".split()


def test_generated_pages_are_what_the_code_says():
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "scripts")])}
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "gen_reference.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
    )
    assert done.returncode == 0, f"run: python scripts/gen_reference.py\n{done.stdout}{done.stderr}"


def test_the_picture_shows_the_layers_that_are_held(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))  # pyright: ignore
    drawn = importlib.import_module("layers").LAYERS
    folders = [
        {part for part in layer if part.startswith("_") and (ROOT / "src" / "treadle" / part).is_dir()}
        for layer in LAYERS
    ]
    assert [{name for name, _ in layer} for layer in drawn] == [layer for layer in folders if layer]


@pytest.mark.parametrize("name", sorted(set(FOREIGN_NAMES)))
def test_every_name_of_the_descriptions_is_mapped(name: str):
    pages = [page.read_text("utf-8") for page in (DOCS / "migrate").glob("*.md")]
    rows = [line for page in pages for line in page.splitlines() if line.startswith("- ")]
    assert any(re.search(rf"(?<![A-Za-z_]){re.escape(name)}(?![A-Za-z_])", row.partition(": ")[0]) for row in rows)


def test_every_page_is_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert [
        path.relative_to(DOCS).as_posix() for path in PAGES if f" {path.relative_to(DOCS).as_posix()}\n" not in nav
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_how_to_is_on_the_page_that_lists_them():
    linked = set(re.findall(r"\]\((\w+\.md)", (DOCS / "howto" / "index.md").read_text("utf-8")))
    assert linked | {"index.md"} >= {path.name for path in (DOCS / "howto").glob("*.md")}


def test_no_page_is_in_the_navigation_twice():
    named = re.findall(r"^ +- ([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    assert len(named) > 50
    assert [name for name in set(named) if named.count(name) > 1] == []


def test_every_extra_is_in_the_table_of_the_first_page():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    rows = [
        line.split("|")[1] for line in (DOCS / "index.md").read_text("utf-8").splitlines() if line.startswith("| `")
    ]
    told = set(re.findall(r"`(\w+)`", " ".join(rows)))
    assert told == extras.keys() - {"all", "docs", "test"}
    brought = re.findall(r"\w+", extras["all"][0].partition("[")[2])
    large = {"inspect", "harbor", "terminal_bench"}
    assert told - large == set(brought)  # `all` brings the others, as the page says


def test_every_picture_is_shown_and_made_by_a_script():
    """A picture that nobody sees grows old unseen; one that no script makes cannot be made again."""
    shown = {name for page in [ROOT / "README.md", *PAGES] for name in PICTURE.findall(page.read_text("utf-8"))}
    assert shown == {path.name for path in (DOCS / "images").iterdir() if path.is_file()}
    makers = [
        *(ROOT / "scripts").glob("*.py"),
        *(ROOT / "tests" / "web").glob("*.py"),
        *(ROOT / "benchmarks").glob("*.py"),
    ]
    text = "\n".join(path.read_text("utf-8") for path in makers)
    prefixes = ("terminal-", "concept-", "everything-", "runs-")  # the rest of the name is put in by the script
    assert [name for name in sorted(shown) if not name.startswith(prefixes) and Path(name).stem not in text] == []


def headings_of_tables(page: Path) -> list[str]:
    lines = page.read_text("utf-8").splitlines()
    return [above for above, line in pairwise(lines) if re.fullmatch(r"\|[-:| ]*-[-:| ]*\|", line)]


def test_no_table_has_an_empty_heading():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]
    found = [(page, heading) for page in pages for heading in headings_of_tables(page)]
    assert len(found) > 30
    assert [(page.name, heading) for page, heading in found if not all(map(str.strip, heading.split("|")[1:-1]))] == []


def test_every_variable_that_the_source_reads_is_described(monkeypatch: pytest.MonkeyPatch):
    """Also those that are read from a mapping that stands for the environment, as credentials are."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))  # pyright: ignore
    pages = importlib.import_module("reference_pages")
    page = (DOCS / "reference" / "environment.md").read_text("utf-8")
    read = pages.variables_read()
    assert {"TREADLE_MODEL", "AWS_REGION", "GOOGLE_APPLICATION_CREDENTIALS"} <= read
    assert [name for name in sorted(read) if f"`{name}`" not in page] == []


def test_every_conversation_prompt_and_builtin_tool_is_described():
    """The generated pages are compared with the code elsewhere; this is that the generator left nothing out."""
    from treadle import Conversation
    from treadle._engine.prompt_names import PROMPTS
    from treadle._tools.builtin import BUILTINS

    def page(name: str) -> str:
        return (DOCS / "reference" / name).read_text("utf-8")

    api = page("api.md")
    conversation = api[api.index("### Conversation\n") :].split("\n### ")[0]
    methods = [
        name for name in vars(Conversation) if not name.startswith("_") and callable(getattr(Conversation, name))
    ]
    assert len(methods) >= 3
    assert [name for name in methods if not re.search(rf"[ `]{name}\(", conversation)] == []
    assert [name for name in PROMPTS if f"`{name}`" not in page("prompts.md")] == []
    assert [name for name in BUILTINS if f"\n## {name}\n" not in page("tools.md")] == []


def test_every_field_of_a_file_has_words():
    """The user's defaults, script files, documents of agents: what comes after the name, type and default."""
    rows = re.findall(r"^- `\w+[:=?].*$", (DOCS / "reference" / "files.md").read_text("utf-8"), re.MULTILINE)
    assert len(rows) > 30
    assert [row for row in rows if not re.search(r"`: \S", row)] == []


REFERENCE = sorted((DOCS / "reference").glob("*.md"))


@pytest.mark.parametrize("page", REFERENCE, ids=lambda path: path.name)
def test_no_cell_of_the_reference_is_empty(page: Path):
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert [row for row in rows if not all(cell.strip() for cell in row.split("|")[1:-1])] == []


def section(page: str, heading: str) -> str:
    text = (DOCS / "reference" / page).read_text("utf-8")
    return re.split(r"\n##+ ", text.split(f"\n{heading}\n", 1)[1])[0]


def test_every_keyword_of_an_agent_and_of_a_run_and_every_setting_is_described():
    from treadle import Agent, Budget, RepairPolicy, RetryPolicy
    from treadle._engine.settings import GROUPS

    for heading, function in (("## Agent", Agent.__init__), ("## A run", Agent.prepare)):
        taken = inspect.signature(function).parameters.values()
        names = [parameter.name for parameter in taken if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
        assert len(names) > 8
        assert [
            name for name in names if not re.search(rf"^- `{name}[:=?]", section("settings.md", heading), re.MULTILINE)
        ] == []
    for kind in (*GROUPS.values(), Budget, RepairPolicy, RetryPolicy):
        described = section("settings.md", f"## {kind.__name__}")
        assert [
            name for name in kind.__struct_fields__ if not re.search(rf"^- `{name}[:=?]", described, re.MULTILINE)
        ] == []


def test_every_field_of_every_event_is_described(monkeypatch: pytest.MonkeyPatch):
    from treadle import events

    monkeypatch.syspath_prepend(str(ROOT / "scripts"))  # pyright: ignore
    says_itself: dict[str, str] = importlib.import_module("field_words").SAY_THEMSELVES
    kinds: tuple[Any, ...] = events.Event.__args__  # pyright: ignore
    often = section("events.md", "## Fields that many have")
    assert len(kinds) > 40
    for kind in kinds:
        described = section("events.md", f"### {kind.__name__}")
        for name in kind.__struct_fields__:
            [words] = re.findall(rf"^- .*?`{name}[:=?][^`]*`(.*)$", described, re.MULTILINE)
            itself = name in says_itself.get(kind.__name__, "").split()
            assert words.startswith(": ") or f"- `{name}`: " in often or itself, (kind, name)
        computed = [name for name, value in vars(kind).items() if isinstance(value, property)]  # pyright: ignore
        assert [name for name in computed if not re.search(rf"^- `{name}`: \w", described, re.MULTILINE)] == [], kind  # pyright: ignore


def test_names_in_backticks_that_look_like_ours_exist():
    """`treadle.room.x` in a page is a module, or a name in one."""
    rooms = "|".join(room for layer in LAYERS for room in layer)
    for page in PAGES:
        for dotted in set(re.findall(rf"`(treadle\.(?:{rooms})(?:\.[A-Za-z_]+)*)`", page.read_text("utf-8"))):
            parts = dotted.split(".")
            try:
                importlib.import_module(dotted)
            except ModuleNotFoundError:
                assert hasattr(importlib.import_module(".".join(parts[:-1])), parts[-1]), f"{page.name}: {dotted}"


def test_the_site_has_the_look_of_the_page():
    assert (DOCS / "assets" / "logo.svg").read_bytes() == (ROOT / "web" / "public" / "favicon.svg").read_bytes()
    page = (ROOT / "web" / "src" / "styles" / "base.css").read_text("utf-8")
    look = (DOCS / "assets" / "look.css").read_text("utf-8")
    for name in ("paper", "ink", "quiet", "accent"):
        light, dark = re.findall(rf"--{name}: light-dark\((#\w+), (#\w+)\)", page)[0]
        assert light in look
        assert dark in look


def test_names_of_ours_are_links_to_the_reference(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))  # pyright: ignore
    linked = importlib.import_module("site_hooks").linked
    code = "```python\n`Conversation`\n```\n"
    text = f"# `Conversation`\n\nA `Conversation`, a `ToolDone`, a [`Run`](x.md), a `Lamp`.\n\n{code}"
    assert linked(text, "howto/a.md") == (
        "# `Conversation`\n\nA [`Conversation`](../reference/api.md#conversation), a "
        f"[`ToolDone`](../reference/events.md#tooldone), a [`Run`](x.md), a `Lamp`.\n\n{code}"
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_the_site_builds_without_a_warning(site: Path):
    assert (site / "index.html").exists()
    assert (site / "concepts" / "durability.html").read_text("utf-8").count("events.html#tool") >= 2


@pytest.mark.slow
def test_the_site_works_without_a_server_and_fetches_nothing(site: Path):
    """Opened as a file, in a browser: the search finds pages, and no request leaves the folder."""
    api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    requested: list[str] = []
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: requested.append(request.url))  # pyright: ignore
        page.goto((site / "index.html").as_uri())
        page.focus(".md-search__input")
        page.get_by_text("Type to start searching").wait_for(state="attached")
        page.keyboard.type("idempotent")
        page.locator(".md-search-result__item").first.wait_for()
        found = page.locator(".md-search-result__item").count()
        browser.close()
    assert found >= 3
    assert [url for url in requested if not url.startswith("file:")] == []
