"""Names into addresses, of zones that answer and of zones that never do."""

import asyncio
import socket
import threading
from collections.abc import Generator

import pytest

from clawft.link.http_out import dns
from clawft.link.http_out.dns import MAX_LOOKUPS, MAX_OF_ZONE, Lookups, Place, Resolver, zone_of
from tests.requirements import requirement

SOON_S = 10.0


class System:
    """A resolver that never comes back for names of `.slow.test` and the like, until it is told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.over = threading.Event()

    def __call__(self, host: str, port: int | None) -> list[Place]:
        self.asked.append(host)
        if "slow" in host:
            self.over.wait()
        return [(socket.AF_INET, "192.0.2.1")]


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Generator[System]:
    made = System()
    monkeypatch.setattr(dns, "system_addresses", made)
    yield made
    made.over.set()


async def turns() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


@requirement("GUARD-04", "QUAL-12")
async def test_a_zone_that_never_answers_holds_up_nobody_else(system: System) -> None:
    lookups = Lookups()
    stalled = [asyncio.ensure_future(lookups.find(f"{number}.slow.test", 80)) for number in range(50)]
    await turns()
    async with asyncio.timeout(SOON_S):
        assert await lookups.find("good.example", 80) == [(socket.AF_INET, "192.0.2.1")]
    assert sum("slow" in host for host in system.asked) == MAX_OF_ZONE
    for task in stalled[:40]:
        task.cancel()
    system.over.set()
    async with asyncio.timeout(SOON_S):
        done = await asyncio.gather(*stalled, return_exceptions=True)
    assert sum(isinstance(each, list) for each in done) == 10


@requirement("QUAL-12")
async def test_whoever_gives_up_keeps_its_place_until_the_system_is_done(system: System) -> None:
    """A thread cannot be ended: else patience would be all it takes to have as many as one likes."""
    lookups = Lookups()
    for number in range(3 * MAX_OF_ZONE):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await lookups.find(f"{number}.slow.test", 80)
    assert len(system.asked) == MAX_OF_ZONE
    system.over.set()
    async with asyncio.timeout(SOON_S):
        assert await lookups.find("late.slow.test", 80)


@requirement("QUAL-12")
async def test_there_is_a_bound_for_all_zones_together(system: System) -> None:
    lookups = Lookups()
    stalled = [asyncio.ensure_future(lookups.find(f"a.slow{number}.test", 80)) for number in range(MAX_LOOKUPS)]
    await turns()
    with pytest.raises(OSError, match="names are being looked up already"):
        await lookups.find("good.example", 80)
    system.over.set()
    await asyncio.gather(*stalled)
    assert await lookups.find("good.example", 80)


@requirement("LINK-16")
async def test_what_the_system_says_is_what_is_found() -> None:
    assert [place["host"] for place in await Resolver().resolve("127.0.0.1", 80)] == ["127.0.0.1"]
    places = await Resolver().resolve("localhost", 80)
    assert {str(place["host"]) for place in places} <= {"127.0.0.1", "::1"}


def test_a_zone_is_what_has_the_same_end() -> None:
    assert zone_of("A.b.Example.COM.") == zone_of("c.example.com") == "example.com"
    assert zone_of("localhost") == "localhost"


@requirement("QUAL-12")
@pytest.mark.parametrize("host", ["....", f"{'a' * 64}.test", "a..b"])
async def test_what_is_no_name_cannot_be_resolved(host: str) -> None:
    with pytest.raises(OSError, match="no name of a host"):
        await Lookups().find(host, 80)
