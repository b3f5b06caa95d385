"""A filter for system calls that no server needs and that have broken sandboxes, as the bytes the kernel takes. Pure.

It refuses with EPERM, so that whoever tries sees an error and nothing dies. Where the processor is not one of these
two there is no filter; calls of another architecture (32 bit) are refused as a whole.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache

from msgspec import Struct


class Machine(Struct, frozen=True):
    audit: int
    """How the kernel calls the architecture."""
    calls: Mapping[str, int]


X86 = Machine(
    0xC000003E,
    {
        "acct": 163, "add_key": 248, "bpf": 321, "delete_module": 176, "finit_module": 313, "init_module": 175,
        "io_uring_setup": 425, "kexec_file_load": 320, "kexec_load": 246, "keyctl": 250, "open_by_handle_at": 304,
        "perf_event_open": 298, "reboot": 169, "request_key": 249, "socket": 41, "swapon": 167, "userfaultfd": 323,
    },
)  # fmt: skip
ARM = Machine(
    0xC00000B7,
    {
        "acct": 89, "add_key": 217, "bpf": 280, "delete_module": 106, "finit_module": 273, "init_module": 105,
        "io_uring_setup": 425, "kexec_file_load": 294, "kexec_load": 104, "keyctl": 219, "open_by_handle_at": 265,
        "perf_event_open": 241, "reboot": 142, "request_key": 218, "socket": 198, "swapon": 224, "userfaultfd": 282,
    },
)  # fmt: skip
MACHINES: Mapping[str, Machine] = {"x86_64": X86, "aarch64": ARM}

NEVER = ("acct add_key bpf delete_module finit_module init_module kexec_file_load kexec_load keyctl "
         "open_by_handle_at perf_event_open reboot request_key swapon userfaultfd").split()  # fmt: skip
UNSEEN = ("io_uring_setup",)
"""Makes sockets that no filter sees."""

AF_UNIX = 1
_LOAD, _EQUAL, _RETURN, _AT_LEAST = 0x20, 0x15, 0x06, 0x35
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050001
_HEAD_STEPS = 4
_X32 = 0x40000000
"""Numbers from here on are 32-bit calls in 64-bit clothes."""


@cache
def program(machine: str, *, network: bool) -> bytes:
    """The filter for this processor; empty where it is not known. Without `network` only local sockets are made."""
    known = MACHINES.get(machine)
    if known is None:
        return b""
    refused = [known.calls[name] for name in (NEVER if network else (*NEVER, *UNSEEN))]
    sockets = [] if network else _only_local(known.calls["socket"])
    last = _HEAD_STEPS + len(refused) + len(sockets) + 1
    checks = [_step(_EQUAL, number, yes=last - at - 1) for at, number in enumerate(refused, _HEAD_STEPS)]
    return b"".join([*_head(known, last), *checks, *sockets, _step(_RETURN, _ALLOW), _step(_RETURN, _REFUSE)])


def _head(machine: Machine, last: int) -> list[bytes]:
    """Only calls of this architecture go on; the last step refuses the others."""
    return [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, machine.audit, no=last - 2),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _X32, yes=last - 4),
    ]


def _only_local(socket: int) -> list[bytes]:
    """Before the step that allows and the one that refuses."""
    return [_step(_EQUAL, socket, no=2), _step(_LOAD, _FIRST_ARGUMENT), _step(_EQUAL, AF_UNIX, no=1)]


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
