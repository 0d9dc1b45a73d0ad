"""`treadle kb`."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle._cli.main import main


def test_kb_add_search_list_remove(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "a.txt").write_text("The lighthouse of Lindesnes was built in 1655.")
    base = ["--kb", str(tmp_path / "kb.db")]
    assert main(["kb", "add", *base, str(tmp_path / "a.txt")]) == 0
    assert main(["kb", "search", *base, "lighthouse"]) == 0
    assert "1655" in capsys.readouterr().out
    assert main(["kb", "list", *base]) == 0
    name = capsys.readouterr().out.split(":")[0]
    assert main(["kb", "remove", *base, name]) == 0
    assert main(["kb", "list", *base]) == 0
    assert capsys.readouterr().out == ""
    assert main(["kb", "search", *base, "lighthouse"]) == 1
    assert "has nothing about 'lighthouse'" in capsys.readouterr().err


def test_a_base_that_is_not_there_is_not_made_by_a_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "kb.db"
    assert main(["kb", "search", "--kb", str(path), "lighthouse"]) == 2
    assert "make it with treadle kb add" in capsys.readouterr().err
    assert not path.exists()
