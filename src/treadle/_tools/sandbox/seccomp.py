"""A filter for system calls that the namespaces leave open: new user namespaces, kernel keys, memory nobody counts,
other processes: an ordinary user's may be those of bubblewrap itself.

bubblewrap takes it as a compiled program. On a processor that is not in the table there is none: then it depends on
bubblewrap's own option whether new user namespaces are refused, and the test of the isolation finds out.
"""

from __future__ import annotations

import errno
import platform
import struct

_CLONE_NEWUSER = 0x1000_0000
_ALLOW, _ERRNO = 0x7FFF_0000, 0x0005_0000
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
"""Where the kernel's description of a call has them; the lower half of the argument, as both machines store it."""
_X32 = 0x4000_0000
"""Calls of another binary interface, with numbers of their own, which would pass the filter."""

_SHARED_NUMBERS = {
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsmount": 432, "mount_setattr": 442,
    "pidfd_getfd": 438, "process_madvise": 440,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "clone3": 435,
}  # fmt: skip
_MACHINES: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (
        0xC000_003E,
        {
            "clone": 56, "unshare": 272, "setns": 308, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161,
            "add_key": 248, "request_key": 249, "keyctl": 250, "bpf": 321, "perf_event_open": 298,
            "userfaultfd": 323, "open_by_handle_at": 304, "memfd_create": 319, "shmget": 29, "socket": 41,
            "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
        },
    ),
    "aarch64": (
        0xC000_00B7,
        {
            "clone": 220, "unshare": 97, "setns": 268, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51,
            "add_key": 217, "request_key": 218, "keyctl": 219, "bpf": 280, "perf_event_open": 241,
            "userfaultfd": 282, "open_by_handle_at": 265, "memfd_create": 279, "shmget": 194, "socket": 198,
            "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272,
        },
    ),
}  # fmt: skip
_MISSING = frozenset({"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "memfd_create"})
"""Refused as if the kernel did not have them: programs then use an older way, which the filter can look into."""
_LOOKED_INTO = ("clone", "unshare")
"""Refused only when they ask for a user namespace; `clone3` cannot be looked into."""
_SOCKETS = (1, 2, 10, 16)
"""The families of sockets there are: local, IPv4, IPv6, and netlink, with which programs look up their own addresses.
No namespace holds all the others: with AF_VSOCK code would talk to the host of a virtual machine."""


def system_call_filter(machine: str = "") -> bytes:
    """The compiled filter; empty on a machine that is not known."""
    entry = _MACHINES.get(machine or platform.machine())
    if entry is None:
        return b""
    architecture, numbers = entry
    numbers = {**numbers, **_SHARED_NUMBERS}
    program = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_IF_EQUAL, architecture, skip_if_true=1),
        _refuse(errno.ENOSYS),
        _step(_LOAD, _NUMBER),
        _step(_IF_AT_LEAST, _X32, skip_if_false=1),
        _refuse(errno.ENOSYS),
    ]
    for name, number in numbers.items():
        if name not in (*_LOOKED_INTO, "socket"):
            reason = errno.ENOSYS if name in _MISSING else errno.EPERM
            program += [_step(_IF_EQUAL, number, skip_if_false=1), _refuse(reason)]
    for name in _LOOKED_INTO:
        program += [
            _step(_IF_EQUAL, numbers[name], skip_if_false=4),
            _step(_LOAD, _FIRST_ARGUMENT),
            _step(_IF_BITS, _CLONE_NEWUSER, skip_if_false=1),
            _refuse(errno.EPERM),
            _step(_RETURN, _ALLOW),
        ]
    families = [_step(_IF_EQUAL, family, skip_if_true=len(_SOCKETS) - at) for at, family in enumerate(_SOCKETS)]
    program += [_step(_IF_EQUAL, numbers["socket"], skip_if_false=len(families) + 2), _step(_LOAD, _FIRST_ARGUMENT)]
    program += [*families, _refuse(errno.EAFNOSUPPORT)]
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def _step(code: int, value: int, *, skip_if_true: int = 0, skip_if_false: int = 0) -> bytes:
    """One instruction; the skips say how many of the next ones are left out."""
    return struct.pack("HBBI", code, skip_if_true, skip_if_false, value)


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _ERRNO | number)
