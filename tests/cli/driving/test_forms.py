"""The form of a document at the terminal: each field is asked for until it fits, and the run goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cli.terminal import Terminal, script, treadle

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
pytest.importorskip("rich")

INPUTS = {
    "rounds": {"name": "Rounds", "type": "integer"},
    "kind": {"name": "Kind", "type": "options", "options": ["short", "long"]},
    "note": {"name": "Note", "optional": True},
}
SHOWN = "{{UserFillUp:Form@rounds}} {{UserFillUp:Form@kind}} {{UserFillUp:Form@note}}!"


def document(home: Path) -> str:
    (home / "form.json").write_text(
        json.dumps(
            {
                "components": {
                    "Agent:Plan": {"obj": {"component_name": "Agent", "params": {"llm_id": "gpt-4o@OpenAI"}}},
                    "UserFillUp:Form": {
                        "obj": {
                            "component_name": "UserFillUp",
                            "params": {"tips": "Plan: {{Agent:Plan@content}}", "inputs": INPUTS},
                        },
                        "upstream": ["Agent:Plan"],
                    },
                    "Message:Out": {
                        "obj": {"component_name": "Message", "params": {"content": [SHOWN]}},
                        "upstream": ["UserFillUp:Form"],
                    },
                }
            }
        )
    )
    return str(home / "form.json")


def test_each_field_is_asked_for_until_it_fits(home: Path):
    with Terminal(home, "run", "q", "-f", document(home), "-m", script(home, "the plan"), TERM="dumb") as screen:
        screen.wait_for("Plan: the plan")
        for asked, typed in [
            ("Rounds: ", "many"), ("integer is needed", "3"), ("Kind (short, long): ", "wide"),
            ("one of these is needed", "long"), ("Note (may stay empty): ", ""),
        ]:  # fmt: skip
            screen.wait_for(asked)
            screen.type(typed + "\n")
        assert screen.end() == 0, screen.text
        assert "3 long !" in screen.text


def test_a_chat_asks_for_the_fields_too_and_goes_on(home: Path):
    with Terminal(home, "chat", "-f", document(home), "-m", script(home, "the plan", "a new plan")) as screen:
        screen.wait_for_prompt()
        for plan, rounds in (("the plan", "3"), ("a new plan", "4")):
            screen.forget()
            screen.type("q\n")
            screen.wait_for(f"Plan: {plan}")
            for asked, typed in [("Rounds: ", rounds), ("Kind (short, long): ", "long"), ("may stay empty", "")]:
                screen.wait_for(asked)
                screen.type(typed + "\n")
            screen.wait_for(f"{rounds} long !")
            screen.wait_for_prompt()
        screen.type("/quit\n")
        assert screen.end() == 0


def test_without_a_terminal_the_run_waits(home: Path):
    done = treadle(home, "run", "q", "-f", document(home), "-m", script(home, "the plan"))
    assert done.code == 4
    assert '"title":"Rounds"' in done.err
