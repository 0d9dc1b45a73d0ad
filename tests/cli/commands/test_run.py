"""`treadle run` as scripts use it."""

from __future__ import annotations

import json
from pathlib import Path

from cli.terminal import Inside, call, script, treadle
from treadle._types.events import Record, decode_event

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


def test_an_unsuccessful_answer_is_an_error_for_scripts(home: Path, inside: Inside):
    model = script(home, '{"type": "tool_call", "tool_name": "calcul', abilities={"tool_call": False}, repeat_last=True)
    done = inside("run", "question", "--model", model, "--preset", "two_phase")
    assert done.code == 1


def test_quiet_prints_the_answer_and_nothing_else(home: Path, inside: Inside):
    done = inside("run", "q", "--model", script(home, *SUM), "-q")
    assert (done.code, done.out, done.err) == (0, "17 * 23 + 4 = **395**.\n", "")


def test_what_tools_and_models_write_cannot_steer_the_terminal(home: Path, inside: Inside):
    model = script(home, call("hostile"), "an answer \x1b]0;title\x07with \x1b[2Jtricks\x9b31m")
    done = inside("run", "q", "--model", model, "--tools", "mytools:hostile")
    assert done.out == "an answer with tricks31m\n"
    assert "  red clip reversed [bold]markup[/bold]\n" in done.err
    assert not set(done.out + done.err) & {"\x1b", "\x07", "\x9b", "\u202e"}


def test_ask_makes_any_tool_wait(home: Path, inside: Inside):
    model = script(home, *SUM)
    assert inside("run", "q", "-m", model, "--ask", "calculator").code == 4
    assert inside("run", "q", "-m", model, "--ask", "all").code == 4
    assert inside("run", "q", "-m", model, "--ask", "datetime").code == 0
    assert inside("run", "q", "-m", model, "--ask", "nothing").code == 2


PARAMS = {"preset": "default", "tools": [{"component_name": "calculator"}]}


def test_a_document_describes_the_agent(home: Path, inside: Inside):
    document = {"components": {"Agent:A": {"obj": {"component_name": "Agent", "params": PARAMS}}}}
    (home / "agent.json").write_text(json.dumps(document))
    done = inside("run", "q", "-f", "agent.json", "--model", script(home, *SUM), "--max-iterations", "7", "--json")
    assert done.code == 0, done.err
    started = json.loads(done.out.splitlines()[0])["event"]
    assert [tool["name"] for tool in started["tools"]] == ["calculator"]
    assert started["settings"]["max_iterations"] == 7


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


def test_data_that_is_no_document_is_named_with_the_option_for_it(home: Path, inside: Inside):
    data = home / "data.json"
    data.write_text('{"city": "Bern"}')
    model = script(home, "Bern")
    done = inside("run", "what city?", "--model", model, "--file", str(data))
    assert done.code == 2
    assert f"to send it with the question: --attach {data}" in done.err
    assert inside("run", "what city?", "--model", model, "--attach", str(data), "-q").out == "Bern\n"
