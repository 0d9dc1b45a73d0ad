"""Where it is kept what placeholders stand for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from programs import python
from treadle import ConfigError, JournalError
from treadle._safety.personal.vault import PLACEHOLDER, Vault


def test_a_datum_has_one_placeholder_per_user_and_another_in_another_vault():
    vault = Vault()
    first = vault.placeholder("anna", "email", "a@example.org")
    assert PLACEHOLDER.fullmatch(first)
    assert vault.placeholder("anna", "email", "A@Example.org") == first
    other = vault.placeholder("bob", "email", "a@example.org")
    assert other != first
    assert Vault().placeholder("anna", "email", "a@example.org") != first
    assert vault.value("anna", first) == "a@example.org"
    assert vault.value("anna", first.lower()) == "a@example.org"
    assert vault.value("bob", first) is None
    vault.forget("anna")
    assert vault.value("anna", first) is None
    assert vault.value("bob", other) == "a@example.org"


def test_a_file_keeps_it_for_other_processes_and_for_nobody_else(tmp_path: Path):
    path = tmp_path / "vault.db"
    placeholder = Vault(path).placeholder("", "name", "Anna Weber")
    assert Vault(path).value("", placeholder) == "Anna Weber"
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600
    program = (
        "import sys; from treadle._safety.personal.vault import Vault\n"
        "v = Vault(sys.argv[1]); print(*[v.placeholder('', 'name', f'Person {n}') for n in range(20)])"
    )
    both = [subprocess.Popen([*python(), "-c", program, str(path)], stdout=subprocess.PIPE, text=True) for _ in "ab"]
    one, two = (process.communicate(timeout=60)[0] for process in both)
    assert one == two
    assert Vault(path).value("", one.split()[7]) == "Person 7"
    Vault(path).forget("")
    assert Vault(path).value("", placeholder) is None
    assert Vault(path).placeholder("", "name", "Anna Weber") == placeholder


def test_a_vault_that_cannot_be_used_says_so(tmp_path: Path):
    with pytest.raises(ConfigError, match="cannot be opened"):
        Vault(tmp_path / "no" / "vault.db").placeholder("", "name", "Anna")
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database" * 100)
    with pytest.raises(JournalError, match="cannot be used"):
        Vault(broken).placeholder("", "name", "Anna")
    if os.name == "posix":
        (tmp_path / "link.db").symlink_to(tmp_path / "elsewhere.db")
        with pytest.raises(ConfigError, match="cannot be opened"):
            Vault(tmp_path / "link.db").placeholder("", "name", "Anna")
