"""The filter is a program for the kernel; what it refuses is in test_bwrap.py, where the kernel runs it."""

from __future__ import annotations

import struct

from kit import row
from treadle._tools.sandbox.seccomp import system_call_filter

ALLOW, ENOSYS, EPERM = 0x7FFF_0000, 0x0005_0026, 0x0005_0001


def decision(program: bytes, architecture: int, number: int, argument: int = 0) -> int:
    """What the filter returns for a call: a small interpreter of its instructions."""
    values = {0: number, 4: architecture, 16: argument}
    steps = list(struct.iter_unpack("HBBI", program))
    at = loaded = 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        if code == 0x06:
            return value
        if code == 0x20:
            loaded = values[value]
        else:
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
            at += if_true if holds else if_false


def test_decisions():
    for machine, architecture, clone, unshare, keyctl, read in (
        ("x86_64", 0xC000_003E, 56, 272, 250, 0),
        ("aarch64", 0xC000_00B7, 220, 97, 219, 63),
    ):
        with row(machine, architecture, clone, unshare, keyctl, read):
            program = system_call_filter(machine)
            for call in (clone, unshare):
                assert decision(program, architecture, call, 0x1000_0011) == EPERM
                assert decision(program, architecture, call, 0x0000_0011) == ALLOW
            assert decision(program, architecture, 435) == ENOSYS
            assert decision(program, architecture, keyctl) == EPERM
            assert decision(program, architecture, read) == ALLOW
            assert decision(program, 0x4000_0003, read) == ENOSYS
            assert decision(program, architecture, 0x4000_0000 + read) == ENOSYS


def test_other_processes_cannot_be_traced_read_or_written():
    for machine, architecture, calls in (
        ("x86_64", 0xC000_003E, (101, 310, 311)),
        ("aarch64", 0xC000_00B7, (117, 270, 271)),
    ):
        with row(machine, architecture, calls):
            program = system_call_filter(machine)
            assert {decision(program, architecture, call) for call in (*calls, 438, 440)} == {EPERM}


def test_only_the_usual_families_of_sockets_are_there():
    for machine, architecture, socket in (("x86_64", 0xC000_003E, 41), ("aarch64", 0xC000_00B7, 198)):
        with row(machine, architecture, socket):
            program = system_call_filter(machine)
            allowed = [family for family in range(50) if decision(program, architecture, socket, family) == ALLOW]
            assert allowed == [1, 2, 10, 16]  # local, IPv4, IPv6, netlink; AF_VSOCK, which no namespace holds, is 40


def test_an_unknown_machine_has_none():
    assert system_call_filter("vax") == b""
