"""Builds a seccomp filter against system calls that no server needs and that have broken sandboxes. Pure.

It refuses with EPERM, so that the caller sees an error and is not killed. On processors other than these two there is
no filter; calls of another architecture (32 bit) are all refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct


class Machine(Struct, frozen=True):
    audit: int
    """The kernel's number of the architecture."""
    calls: Mapping[str, int]


X86 = Machine(
    0xC000003E,
    {
        "acct": 163, "add_key": 248, "bpf": 321, "clone": 56, "clone3": 435,
        "delete_module": 176, "finit_module": 313, "init_module": 175,
        "io_uring_setup": 425, "ioprio_set": 251, "kexec_file_load": 320, "kexec_load": 246, "keyctl": 250, "kill": 62,
        "open": 2, "open_by_handle_at": 304, "openat": 257, "openat2": 437, "perf_event_open": 298, "pidfd_open": 434,
        "pidfd_send_signal": 424, "prlimit64": 302, "process_vm_readv": 310, "process_vm_writev": 311,
        "ptrace": 101, "reboot": 169, "request_key": 249, "rt_sigqueueinfo": 129,
        "rt_tgsigqueueinfo": 297, "sched_setaffinity": 203, "sched_setattr": 314, "sched_setparam": 142,
        "sched_setscheduler": 144, "setns": 308, "setpriority": 141, "socket": 41,
        "swapon": 167, "tgkill": 234, "tkill": 200,
        "truncate": 76, "unshare": 272, "userfaultfd": 323,
    },
)  # fmt: skip
ARM = Machine(
    0xC00000B7,
    {
        "acct": 89, "add_key": 217, "bpf": 280, "clone": 220, "clone3": 435,
        "delete_module": 106, "finit_module": 273, "init_module": 105,
        "io_uring_setup": 425, "ioprio_set": 30, "kexec_file_load": 294, "kexec_load": 104, "keyctl": 219, "kill": 129,
        "open_by_handle_at": 265, "openat": 56, "openat2": 437, "perf_event_open": 241, "pidfd_open": 434,
        "pidfd_send_signal": 424, "prlimit64": 261, "process_vm_readv": 270, "process_vm_writev": 271,
        "ptrace": 117, "reboot": 142, "request_key": 218, "rt_sigqueueinfo": 138,
        "rt_tgsigqueueinfo": 240, "sched_setaffinity": 122, "sched_setattr": 274, "sched_setparam": 118,
        "sched_setscheduler": 119, "setns": 268, "setpriority": 140, "socket": 198,
        "swapon": 224, "tgkill": 131, "tkill": 130,
        "truncate": 45, "unshare": 97, "userfaultfd": 282,
    },
)  # fmt: skip
MACHINES: Mapping[str, Machine] = {"x86_64": X86, "aarch64": ARM}

NEVER = ("acct add_key bpf delete_module finit_module init_module io_uring_setup kexec_file_load kexec_load keyctl "
         "open_by_handle_at perf_event_open reboot request_key swapon userfaultfd").split()  # fmt: skip
"""`io_uring_setup`: no filter sees the requests made by it."""

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
NETWORK = (AF_UNIX, AF_INET, AF_INET6, AF_NETLINK)
"""Other families, such as the one to the host of a virtual machine, ignore namespaces."""

AT_SOMEBODY: Mapping[str, int] = {
    "kill": 0, "tkill": 0, "tgkill": 0, "rt_sigqueueinfo": 0, "rt_tgsigqueueinfo": 0, "pidfd_open": 0,
    "sched_setaffinity": 0, "sched_setattr": 0, "sched_setparam": 0, "sched_setscheduler": 0, "setpriority": 1,
    "ioprio_set": 1,
}  # fmt: skip
"""Calls that signal or change a process, and which argument names it."""
AT_ALL_OF_A_USER: Mapping[str, int] = {"setpriority": 2, "ioprio_set": 3}
"""Calls that do so to all processes of a user if this is their first argument."""
INTO_SOMEBODY: Mapping[str, int] = {"ptrace": 1, "process_vm_readv": 0, "process_vm_writev": 0}
"""Calls that read or change a process's memory, and which argument names it."""
MAKING_NAMESPACES: Mapping[str, int] = {"unshare": 0, "clone": 0}
"""Calls that make namespaces, and which argument holds the flags."""
OF_MOUNTS = 0x00020000
THE_FIRST = 1
EVERYBODY = -1
ITSELF = 0
TENDER = 0x7FFFFFFF
"""Stands for the process that tends a child, whose number its launcher puts here. No process has this number."""

OPENS = {"open": 1, "openat": 2}
"""Calls that open a file, and which argument holds the flags."""
WRITES, READS_AND_WRITES, HOW, EMPTIES = 1, 2, 3, 0o1000

Jump = Literal["next", "skip", "allow", "refuse"]

_LOAD, _EQUAL, _RETURN, _AT_LEAST, _HAS, _KEEP = 0x20, 0x15, 0x06, 0x35, 0x45, 0x54
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _ARGUMENT_BYTES = 0, 4, 16, 8
_ALLOW, _REFUSE, _UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050026
"""Refuse with EPERM; or with ENOSYS, like a kernel without the call, so that libraries use an older one."""
_X32 = 0x40000000
"""Call numbers of the x32 ABI begin here."""


class Step(Struct, frozen=True):
    code: int
    value: int
    yes: Jump = "next"
    no: Jump = "next"


Block = Sequence[Step]
"""Steps that belong together: `skip` jumps behind the last of them."""


@cache
def program(
    machine: str,
    *,
    network: bool,
    local: bool = True,
    walled: bool = False,
    spared: tuple[int, ...] = (),
    emptying: bool = True,
) -> bytes:
    """The filter for this processor; empty if it is not known.

    Without `network` only local sockets can be made, and none without `local` either; socket pairs always can.

    `walled`: no access to the first process of the namespace, which is the wall's, and no own mounts, by which those of
    the wall could be removed. `spared`: processes, and groups by their negative number, that cannot be signalled or
    changed. Without `emptying` a file is truncated only by opening it for writing: at first Landlock did not control
    that.
    """
    known = MACHINES.get(machine)
    if known is None:
        return b""
    blocks = [_head(known), *([Step(_EQUAL, known.calls[name], yes="refuse")] for name in NEVER)]
    blocks += (*_keeping_out_of_the_first(known), *_keeping_the_mounts(known)) if walled else ()
    blocks += _sparing(known, spared) if spared else ()
    blocks += () if emptying else _not_emptying(known)
    families = NETWORK if network else (AF_UNIX,) if local else ()
    blocks.append(_only(known.calls["socket"], 0, families))
    return _assembled(blocks)


def _head(machine: Machine) -> Block:
    """Refuse calls of other architectures."""
    return (
        Step(_LOAD, _ARCHITECTURE),
        Step(_EQUAL, machine.audit, no="refuse"),
        Step(_LOAD, _NUMBER),
        Step(_AT_LEAST, _X32, yes="refuse"),
    )


def _keeping_out_of_the_first(machine: Machine) -> Iterable[Block]:
    for name, argument in INTO_SOMEBODY.items():
        yield _about(machine.calls[name], argument, Step(_EQUAL, THE_FIRST, yes="refuse"))


def _keeping_the_mounts(machine: Machine) -> Iterable[Block]:
    """Refuse mount namespaces, where the wall's mounts could be moved; no filter sees the flags of `clone3`."""
    for name, argument in MAKING_NAMESPACES.items():
        yield _about(machine.calls[name], argument, Step(_HAS, OF_MOUNTS, yes="refuse"))
    yield [Step(_EQUAL, machine.calls["setns"], yes="refuse")]
    yield (Step(_EQUAL, machine.calls["clone3"], no="skip"), Step(_RETURN, _UNKNOWN))


def _sparing(machine: Machine, spared: Sequence[int]) -> Iterable[Block]:
    """Refuse calls on these processes. `pidfd_send_signal` is refused, as no filter sees which process it names."""
    yield [Step(_EQUAL, machine.calls["pidfd_send_signal"], yes="refuse")]
    named = dict.fromkeys((*spared, *map(abs, spared), EVERYBODY))
    for name, argument in AT_SOMEBODY.items():
        own_group = [ITSELF] if name == "kill" and TENDER in spared else []  # whose leader it is
        yield _about(
            machine.calls[name], argument, *(Step(_EQUAL, each, yes="refuse") for each in (*named, *own_group))
        )
    for name, which in AT_ALL_OF_A_USER.items():
        yield _about(machine.calls[name], 0, Step(_EQUAL, which, yes="refuse"))
    yield _only(machine.calls["prlimit64"], 0, (ITSELF,))


def _not_emptying(machine: Machine) -> Iterable[Block]:
    """Refuse truncating by path, or while opening for anything but writing. No filter sees the flags of `openat2`."""
    yield from ([Step(_EQUAL, machine.calls[name], yes="refuse")] for name in ("truncate", "openat2"))
    for name, argument in OPENS.items():
        if name in machine.calls:
            may = (Step(_EQUAL, how, yes="allow") for how in (WRITES, READS_AND_WRITES))
            how = (Step(_HAS, EMPTIES, no="allow"), Step(_KEEP, HOW), *may, Step(_RETURN, _REFUSE))
            yield _about(machine.calls[name], argument, *how)


def _only(call: int, argument: int, allowed: Sequence[int]) -> Block:
    """Allow a call only with one of these as its argument."""
    return _about(call, argument, *(Step(_EQUAL, each, yes="allow") for each in allowed), Step(_RETURN, _REFUSE))


def _about(call: int, argument: int, *steps: Step) -> Block:
    load = Step(_LOAD, _FIRST_ARGUMENT + argument * _ARGUMENT_BYTES)
    return (Step(_EQUAL, call, no="skip"), load, *steps, Step(_LOAD, _NUMBER))


def _assembled(blocks: Sequence[Block]) -> bytes:
    total = sum(map(len, blocks))
    done: list[bytes] = []
    for block in blocks:
        end = len(done) + len(block)
        for step in block:
            place = {"next": len(done) + 1, "skip": end, "allow": total, "refuse": total + 1}
            yes, no = (place[to] - len(done) - 1 for to in (step.yes, step.no))
            done.append(_encoded(step.code, step.value, yes, no))
    return b"".join([*done, _encoded(_RETURN, _ALLOW), _encoded(_RETURN, _REFUSE)])


def _encoded(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value & 0xFFFFFFFF)
