"""The filter, run step by step as the kernel would, for both processors."""

import struct
from collections.abc import Sequence

import pytest

from clawft.sandbox.landlock import STAND_IN, naming_tender
from clawft.sandbox.seccomp import AT_SOMEBODY, INTO_SOMEBODY, MACHINES, NETWORK, NEVER, TENDER, program
from tests.requirements import requirement

ALLOW, REFUSE, UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050026
AF_VSOCK, AF_PACKET = 40, 17
US, OUR_GROUP, ANOTHER = 1234, -1200, 4321


def verdict(steps: bytes, call: int, arguments: Sequence[int] = (), audit: int = 0) -> bool:
    """Whether the call is let through."""
    found = returned(steps, call, arguments, audit)
    assert found in (ALLOW, REFUSE)
    return found == ALLOW


def returned(steps: bytes, call: int, arguments: Sequence[int], audit: int) -> int:
    """What the filter tells the kernel to do."""
    data = struct.pack("=IIQ6Q", call, audit, 0, *(each & 0xFFFFFFFF for each in (*arguments, *[0] * 6)[:6]))
    accumulator = at = 0
    while True:
        code, yes, no, value = struct.unpack_from("=HBBI", steps, at * 8)
        at += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, value)
            case 0x15:
                at += yes if accumulator == value else no
            case 0x35:
                at += yes if accumulator >= value else no
            case 0x45:
                at += yes if accumulator & value else no
            case 0x54:
                accumulator &= value
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(f"an unknown step: {code:#x}")


@requirement("POOL-22")
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("spared", [(), (US, OUR_GROUP)])
@pytest.mark.parametrize("network", [True, False])
def test_what_is_let_through(machine: str, network: bool, spared: tuple[int, ...]) -> None:
    known = MACHINES[machine]
    steps = program(machine, network=network, spared=spared)

    def allows(call: int | str, *arguments: int, audit: int = known.audit) -> bool:
        return verdict(steps, known.calls[call] if isinstance(call, str) else call, arguments, audit)

    assert allows(0)
    assert allows(9999)
    assert not allows(0, audit=0x40000003), "32 bit"
    assert not allows(0x40000000)
    assert not any(map(allows, NEVER))
    assert [family for family in (*NETWORK, AF_PACKET, AF_VSOCK) if allows("socket", family)] == (
        [*NETWORK] if network else [1]
    )
    for call, place in AT_SOMEBODY.items():
        for who in (US, OUR_GROUP, -1):
            assert allows(call, *[0] * place, who) is not bool(spared), (call, who)
        assert allows(call, *[0] * place, ANOTHER)
        assert allows(call, *[0] * place, 0)
    assert allows("prlimit64", 0)
    assert allows("prlimit64", ANOTHER) is not bool(spared)


@requirement("POOL-22")
@pytest.mark.parametrize("machine", MACHINES)
def test_nobody_gets_into_the_first_process_behind_a_wall(machine: str) -> None:
    known = MACHINES[machine]
    for walled in (True, False):
        steps = program(machine, network=True, walled=walled)
        for call, place in INTO_SOMEBODY.items():
            into = [verdict(steps, known.calls[call], (*[9] * place, who), known.audit) for who in (1, 2, ANOTHER)]
            assert into == [not walled, True, True], call


@requirement("POOL-22")
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("walled", [True, False])
def test_nobody_behind_a_wall_has_mounts_of_their_own(machine: str, walled: bool) -> None:
    known = MACHINES[machine]
    steps = program(machine, network=True, walled=walled)

    def answer(call: str, *arguments: int) -> int:
        return returned(steps, known.calls[call], arguments, known.audit)

    new_users, new_mounts, thread = 0x10000000, 0x00020000, 0x003D0F00
    for call in ("unshare", "clone"):
        assert answer(call, new_users | new_mounts) == (REFUSE if walled else ALLOW)
        assert [answer(call, flags) for flags in (0, new_users, thread)] == [ALLOW] * 3
    assert answer("setns", 3, 0) == (REFUSE if walled else ALLOW)
    assert answer("clone3") == (UNKNOWN if walled else ALLOW)


@requirement("POOL-22")
@pytest.mark.parametrize("machine", MACHINES)
def test_without_a_network_there_may_be_no_sockets_at_all(machine: str) -> None:
    known = MACHINES[machine]
    steps = program(machine, network=False, local=False)
    assert not any(verdict(steps, known.calls["socket"], (family,), known.audit) for family in (*NETWORK, AF_VSOCK))
    assert verdict(steps, known.calls["openat"], audit=known.audit)


@requirement("POOL-22")
@pytest.mark.parametrize("machine", MACHINES)
def test_files_are_emptied_by_those_who_may_write_to_them(machine: str) -> None:
    known = MACHINES[machine]
    for emptying in (True, False):
        steps = program(machine, network=True, emptying=emptying)
        assert verdict(steps, known.calls["truncate"], audit=known.audit) is emptying
        assert verdict(steps, known.calls["openat2"], audit=known.audit) is emptying
        for call, place in (("open", 1), ("openat", 2)):
            number = known.calls.get(call)
            for how, writes in ((0, False), (1, True), (2, True), (3, False)) if number is not None else ():
                opened = [verdict(steps, number or 0, (*[0] * place, how | more), known.audit) for more in (0, 0o1000)]
                assert opened == [True, emptying or writes], (call, how)


@requirement("POOL-22")
@pytest.mark.parametrize("machine", MACHINES)
def test_whoever_tends_a_server_is_named_when_it_has_a_number(machine: str) -> None:
    assert TENDER == STAND_IN
    known = MACHINES[machine]
    steps = naming_tender(program(machine, network=True, spared=(US, OUR_GROUP, TENDER, -TENDER)), ANOTHER)
    for who in (US, OUR_GROUP, ANOTHER, -ANOTHER, 0, -1):
        assert not verdict(steps, known.calls["kill"], (who,), known.audit), who
    assert verdict(steps, known.calls["kill"], (ANOTHER + 1,), known.audit)
    assert verdict(steps, known.calls["setpriority"], (0, 0), known.audit)


def test_an_unknown_processor_has_no_filter() -> None:
    assert program("riscv64", network=False) == b""
