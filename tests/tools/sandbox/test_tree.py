"""Measuring a process with all that it started."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator

import pytest

from treadle._tools.sandbox import tree
from treadle._tools.sandbox.tree import measure

MB = 2**20
PROGRAM = """
import os, sys, threading
kept = bytearray(b'x') * (40 * 2**20)
for _ in range(3):
    if os.fork() == 0:
        sys.stdin.read()
        os._exit(0)
threading.Thread(target=sys.stdin.read).start()
print('ready', flush=True)
"""


@pytest.fixture
def family() -> Generator[int]:
    """A process of two threads with 40 MB that its three children share."""
    command = [sys.executable, "-I", "-c", PROGRAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process.pid


def test_processes_and_threads_are_counted(family: int):
    assert measure(family).processes == 5


def test_shared_memory_counts_once_when_it_matters(family: int):
    exact, quick = measure(family, 0).memory, measure(family, 10**12).memory
    assert 40 * MB < exact < 100 * MB
    assert quick > 160 * MB


def test_a_kernel_that_does_not_list_children(family: int):
    assert tree._all_children()[family] == tree._children(family)
    assert len(tree._children(family)) == 3


def test_our_own_folders_are_not_counted(family: int):
    """A process that has not entered its sandbox yet sees the machine's."""
    assert measure(family, scratch=("/tmp", "/nothing")).files == 0


def test_a_process_that_has_ended():
    process = subprocess.Popen([sys.executable, "-I", "-c", ""])
    process.wait()
    assert measure(process.pid).memory == 0
    assert measure(os.getpid()).memory > MB


def test_a_process_that_ends_while_it_is_measured_counts_nothing():
    """Several that end together would otherwise count with all that they had shared."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert tree._proportional(process.pid) > 0
    process.communicate(b"\n")
    assert tree._proportional(process.pid) == 0
