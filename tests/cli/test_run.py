"""`treadle run` as scripts use it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from treadle._types.events import Record, decode_event

from .terminal import call, interrupt, script, start, treadle, until

Inside = Callable[..., Any]
SUM = (
    {"text": "I work it out.", "calls": [call("calculator", expression="17 * 23 + 4")]},
    "17 * 23 + 4 = **395**.",
)


def test_pipe_gets_the_answer_and_stderr_the_steps(home: Path):
    done = treadle(home, "run", "What is 17 * 23 + 4?", "--model", script(home, *SUM))
    assert done.code == 0
    assert done.out == "17 * 23 + 4 = **395**.\n"
    lines = done.err.splitlines()
    assert lines[0].endswith("(named with --model)")
    assert lines[1:4] == ["I work it out.", "> calculator 17 * 23 + 4", "  395"]
    assert lines[-1].startswith("-- 2 steps, ")
    assert "tokens, run " in lines[-1]
    assert "\x1b" not in done.out + done.err


def test_json_lines_are_the_records(home: Path):
    done = treadle(home, "run", "What is 17 * 23 + 4?", "--model", script(home, *SUM), "--json")
    assert done.code == 0
    assert done.records[0]["event"]["type"] == "run_started"
    assert done.records[-1]["event"]["type"] == "run_finished"
    stored = [r for r in done.records if not r.get("offset")]
    assert [r["seq"] for r in stored] == list(range(len(stored)))
    for line in done.out.splitlines():
        record = json.loads(line)
        Record(record["run"], record["seq"], record["time"], decode_event(json.dumps(record["event"])))
    shown = treadle(home, "runs", "show", "last", "--json").records
    assert shown == stored


@pytest.mark.parametrize(
    ("replies", "options", "code", "says"),
    [
        pytest.param([{"error": "no such model", "status": 404}], (), 1, "no such model", id="error"),
        pytest.param(
            [call("calculator", expression="1"), "one"],
            ("--max-iterations", "1"),
            3,
            "no answer after 1 iteration",
            id="limit",
        ),
        pytest.param([call("calculator", expression="1")], ("--set", "budget.requests=1"), 3, "budget", id="budget"),
        pytest.param(
            [call("erase", path="x"), "gone"], ("--tools", "mytools:erase"), 4, "treadle runs resume", id="paused"
        ),
        pytest.param(["hi"], ("--set", "colour=red"), 2, "unknown setting 'colour'", id="unknown-setting"),
        pytest.param(["hi"], ("--set", "temperature"), 2, "name=value", id="bad-set"),
        pytest.param(["hi"], ("--set", "max_iterations=many"), 2, "wrong value", id="bad-value"),
        pytest.param(["hi"], ("--max-cost", "1"), 2, "prices", id="no-price"),
        pytest.param(["hi"], ("--max-cost", "-1"), 2, "not an amount", id="bad-cost"),
        pytest.param(["hi"], ("--tools", "calculater"), 2, "did you mean 'calculator'", id="unknown-tool"),
        pytest.param(["hi"], ("--tools", "nothing:here"), 2, "module:name", id="unknown-module"),
        pytest.param(
            ["hi"],
            ("--tools", "mytools:missing"),
            2,
            "it has the tools: erase, hostile, stuck, wait",
            id="unknown-name",
        ),
        pytest.param(["hi"], ("--tools", "missing.py:x"), 2, "there is no file", id="no-file"),
        pytest.param(["hi"], ("--tools", "folder=x"), 2, "before any tool", id="stray-parameter"),
        pytest.param(["hi"], ("--preset", "wild"), 2, "invalid choice", id="unknown-preset"),
        pytest.param(["hi"], ("-f", "missing.yaml"), 2, "missing.yaml", id="no-document"),
        pytest.param(["hi"], ("--journal", "/proc/nowhere/x.db"), 1, "journal", id="no-journal"),
    ],
)
def test_exit_codes(home: Path, inside: Inside, replies: list[Any], options: tuple[str, ...], code: int, says: str):
    done = inside("run", "question", "--model", script(home, *replies, repeat_last=True), *options)
    assert (done.code, says in done.err) == (code, True), done.err
    assert "Traceback" not in done.err


def test_an_unsuccessful_answer_is_an_error_for_scripts(home: Path, inside: Inside):
    model = script(home, '{"type": "tool_call", "tool_name": "calcul', abilities={"tool_call": False}, repeat_last=True)
    done = inside("run", "question", "--model", model, "--preset", "two_phase")
    assert done.code == 1


def test_quiet_prints_the_answer_and_nothing_else(home: Path, inside: Inside):
    done = inside("run", "q", "--model", script(home, *SUM), "-q")
    assert (done.code, done.out, done.err) == (0, "17 * 23 + 4 = **395**.\n", "")


def test_question_from_stdin(home: Path):
    done = treadle(home, "run", "-", "--model", script(home, "four"), stdin="What is\n2 + 2?\n")
    assert (done.code, done.out) == (0, "four\n")
    assert treadle(home, "run", "-", "--model", script(home, "four"), stdin="").code == 2


def test_what_tools_and_models_write_cannot_steer_the_terminal(home: Path, inside: Inside):
    model = script(home, call("hostile"), "an answer \x1b]0;title\x07with \x1b[2Jtricks\x9b31m")
    done = inside("run", "q", "--model", model, "--tools", "mytools:hostile")
    assert done.out == "an answer with tricks31m\n"
    assert "  red clip reversed [bold]markup[/bold]\n" in done.err
    assert not set(done.out + done.err) & {"\x1b", "\x07", "\x9b", "\u202e"}


def test_tools_by_name_module_and_file_with_parameters(home: Path, inside: Inside):
    (home / "docs").mkdir()
    (home / "docs" / "note.txt").write_text("the word is xyzzy\n")
    model = script(
        home, [call("read_file", path="note.txt"), call("wait", seconds=0.05), call("erase", path="a")], "xyzzy"
    )
    done = inside("run", "q", "-m", model, "-t", "files,folder=docs", "-t", "mytools:wait,mytools.py:erase", "--yes")
    assert done.code == 0, done.err
    assert "the word is xyzzy" in done.err
    assert "tick 0" in done.err
    assert (home / "erased.txt").read_text() == "a\n"
    assert inside("run", "q", "-m", script(home, call("write_file", path="x", text="y"), "no"), "-t", "files").code == 0
    assert not (home / "x").exists(), "files are only read unless writing is asked for"


def test_ask_makes_any_tool_wait(home: Path, inside: Inside):
    model = script(home, *SUM)
    assert inside("run", "q", "-m", model, "--ask", "calculator").code == 4
    assert inside("run", "q", "-m", model, "--ask", "all").code == 4
    assert inside("run", "q", "-m", model, "--ask", "datetime").code == 0
    assert inside("run", "q", "-m", model, "--ask", "nothing").code == 2


def test_the_users_file_gives_defaults_and_flags_win(home: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch):
    model, other = script(home, "from the file", name="a"), script(home, "from the flag", name="b")
    config = home / "config.toml"
    config.write_text(f'model = "{model}"\ntools = ["none"]\njournal = "none"\n[settings]\nmax_iterations = 3\n')
    monkeypatch.setenv("TREADLE_CONFIG", str(config))
    done = inside("run", "q", "--json")
    started = json.loads(done.out.splitlines()[0])["event"]
    assert started["settings"]["max_iterations"] == 3
    assert "tools" not in started
    assert "named in the config file" in done.err
    assert inside("run", "q", "-m", other).out == "from the flag\n"
    assert not (home / "state" / "journal.db").exists()
    config.write_text("modle = 1\n")
    done = inside("run", "q")
    assert done.code == 2
    assert "modle" in done.err


def test_a_document_describes_the_agent(home: Path, inside: Inside):
    document = {
        "components": {
            "Agent:A": {"obj": {"component_name": "Agent", "params": {"tools": [{"component_name": "calculator"}]}}}
        }
    }
    (home / "agent.json").write_text(json.dumps(document))
    done = inside("run", "q", "-f", "agent.json", "--model", script(home, *SUM), "--max-iterations", "7", "--json")
    assert done.code == 0, done.err
    started = json.loads(done.out.splitlines()[0])["event"]
    assert [tool["name"] for tool in started["tools"]] == ["calculator"]
    assert started["settings"]["max_iterations"] == 7


def test_debug_shows_where(home: Path):
    done = treadle(home, "run", "q", "-m", "nonsense", TREADLE_DEBUG="1")
    assert "Traceback" in done.err
    assert "UnknownModelError" in done.err


def test_keys_stay_out_of_sight(home: Path):
    key = "sk-topsecret0123456789abcdef"
    done = treadle(
        home,
        "run",
        "q",
        "-m",
        "openai:gpt-4o",
        "--set",
        "retry.attempts=1",
        OPENAI_API_KEY=key,
        OPENAI_BASE_URL="http://127.0.0.1:9/v1",
    )
    assert done.code == 1
    assert key not in done.out + done.err
    assert key.encode() not in (home / "state" / "journal.db").read_bytes()


def test_ctrl_c_once_cancels_cleanly(home: Path):
    model = script(home, [call("calculator", expression="1"), call("wait", seconds=30)], "never")
    with start(home, "run", "q", "-m", model, "-t", "mytools:wait", "-t", "calculator") as process:
        until(process, "> calculator")
        interrupt(process)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 130
        assert out == ""
        assert "stopping" in err
        assert "-- cancelled, 1 step" in err
        records = treadle(home, "runs", "show", "last", "--json").records
        assert records[-1]["event"]["stop_reason"] == "cancelled"
        assert sorted(r["event"]["name"] for r in records if r["event"]["type"] == "tool_done") == [
            "calculator",
            "wait",
        ]


def test_ctrl_c_twice_leaves_at_once_and_loses_nothing(home: Path):
    (home / "deaf.py").write_text(
        "import asyncio, time\nfrom treadle import tool\n\n@tool\nasync def deaf() -> str:\n"
        '    """Does not listen."""\n    while True:\n        try:\n            await asyncio.sleep(60)\n'
        "        except asyncio.CancelledError:\n            pass\n"
    )
    model = script(home, [call("calculator", expression="1"), call("deaf")], "never")
    with start(home, "run", "q", "-m", model, "-t", "deaf:deaf", "-t", "calculator") as process:
        until(process, "> calculator")
        interrupt(process)
        until(process, "stopping")
        began = time.monotonic()
        interrupt(process)
        process.communicate(timeout=20)
        assert process.returncode == 130
        assert time.monotonic() - began < 5
        assert "finished" not in treadle(home, "runs", "list", "--json").out
        assert "calculator" in treadle(home, "runs", "show", "last", "--records").out


def test_a_blocked_thread_does_not_keep_the_program(home: Path):
    model = script(home, [call("calculator", expression="1"), call("stuck", seconds=60)], "never")
    with start(home, "run", "q", "-m", model, "-t", "mytools:stuck,calculator") as process:
        until(process, "> calculator")
        interrupt(process)
        process.communicate(timeout=20)
        assert process.returncode == 130
    assert "stuck: failed (unknown_outcome)" in treadle(home, "runs", "show", "last").out
