"""Which process holds a claim, and whether it is still running."""

from __future__ import annotations

import subprocess
import sys

from treadle._journal.process import ProcessIdentity, is_alive, this_process


def test_a_process_is_identified_by_more_than_its_pid():
    this = this_process()
    assert is_alive(this) is not False
    assert is_alive(ProcessIdentity("elsewhere", this.pid, this.started)) is None
    if sys.platform == "linux":
        assert is_alive(this) is True
        assert is_alive(ProcessIdentity(this.host, this.pid, "1")) is False, "an earlier process with the same pid"
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert is_alive(ProcessIdentity(this.host, process.pid, this.started)) is False
