"""`treadle runs proof` and `treadle verify`."""

from __future__ import annotations

import json
from pathlib import Path

from cli.terminal import Inside, call, script

REPLIES = (call("calculator", expression="17 * 23 + 4"), "The result is 395. The Eiffel Tower has 72 lifts.")


def test_a_proof_is_written_checked_and_found_out_when_changed(home: Path, inside: Inside):
    inside("run", "What is 17 * 23 + 4?", "--model", script(home, *REPLIES))
    written = inside("runs", "proof", "last", "-o", "proof.jsonl")
    assert written.code == 0
    assert "+ The result is 395." in written.out
    assert "! The Eiffel Tower has 72 lifts.   (72 is in no record that speaks of this)" in written.out
    assert (home / "proof.jsonl").stat().st_mode & 0o777 == 0o600
    head = next(line for line in written.out.splitlines() if line.startswith("last hash: ")).split()[-1]

    checked = inside("verify", "proof.jsonl", "--head", head)
    assert checked.code == 0
    assert "intact: 1 supported, 1 unsupported" in checked.out
    assert inside("verify", "proof.jsonl", "--strict").code == 1
    assert inside("verify", "proof.jsonl", "--head", "ab").code == 1
    assert json.loads(inside("verify", "proof.jsonl", "--json").out)["head"] == head

    text = (home / "proof.jsonl").read_text()
    (home / "proof.jsonl").write_text(text.replace("72 lifts", "73 lifts"))
    changed = inside("verify", "proof.jsonl")
    assert changed.code == 1
    assert "NOT INTACT: line" in changed.out
    assert inside("verify", "mytools.py").code == 2
    assert inside("verify", "missing").code == 1


def test_a_name_is_chosen_and_stdout_gets_the_file_alone(home: Path, inside: Inside):
    inside("run", "What is 17 * 23 + 4?", "--model", script(home, *REPLIES))
    inside("runs", "proof", "last")
    (file,) = home.glob("proof-*.jsonl")
    assert file.read_text().startswith('{"format":"treadle-proof"')
