"""What a server lets us keep: public for all, private for its reader only, and never longer than it said."""

import json

import pytest

from clawft.link.share import memory_budget
from clawft.link.share.memory_budget import MemoryBudget
from clawft.provider.server import kept_reads
from clawft.provider.server.kept_reads import KeptReads
from tests.requirements import requirement

pytestmark = requirement("RES-01")


def result(text: str = "x", ttl: float = 60_000, scope: str = "private") -> bytes:
    return json.dumps({"contents": [{"text": text}], "ttlMs": ttl, "cacheScope": scope}).encode()


def test_what_is_private_is_never_given_to_another() -> None:
    reads = KeptReads()
    reads.put("x://a", "ada", result("for ada"))
    reads.put("x://b", "ada", result("for all", scope="public"))
    assert reads.get("x://a", "eve") is None
    assert b"for ada" in (reads.get("x://a", "ada") or b"")
    assert b"for all" in (reads.get("x://b", "eve") or b"")


@pytest.mark.parametrize("unknown", ["", "Public", "everyone"])
def test_a_scope_we_do_not_know_is_private(unknown: str) -> None:
    reads = KeptReads()
    reads.put("x://a", "ada", result(scope=unknown))
    assert reads.get("x://a", "eve") is None


@pytest.mark.parametrize("ttl", [0, -1])
def test_what_may_not_be_kept_is_not(ttl: float) -> None:
    reads = KeptReads()
    reads.put("x://a", "ada", result(ttl=ttl))
    reads.put("x://b", "ada", b'{"contents":[]}')
    reads.put("x://c", "ada", b'{"ttlMs":"soon"}')
    assert len(reads) == 0


def test_it_is_given_with_the_time_that_is_left_and_not_after(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(kept_reads.time, "monotonic", lambda: now)
    reads = KeptReads()
    reads.put("x://a", "ada", result(ttl=2_000))
    now = 101.5
    assert json.loads(reads.get("x://a", "ada") or b"{}")["ttlMs"] == 500
    now = 102.0
    assert reads.get("x://a", "ada") is None


def test_a_change_is_the_end_of_it_for_parts_and_wholes_too() -> None:
    reads = KeptReads()
    for uri in ("x://a", "x://a/part", "x://b"):
        reads.put(uri, "ada", result())
    reads.forget("x://a")
    assert [uri for uri in ("x://a", "x://a/part", "x://b") if reads.get(uri, "ada")] == ["x://b"]


def test_there_is_a_bound_on_how_many_and_how_much(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = KeptReads()
    for number in range(kept_reads.MAX_KEPT + 10):
        reads.put(f"x://{number}", "ada", result())
    assert len(reads) == kept_reads.MAX_KEPT
    assert reads.get("x://0", "ada") is None
    monkeypatch.setattr(kept_reads, "MAX_KEPT_BYTES", 1_000)
    reads.put("x://big", "ada", result("y" * 900))
    assert len(reads) == 1
    reads.put("x://huge", "ada", result("y" * 2_000))
    assert reads.get("x://huge", "ada") is None


def test_what_all_servers_may_keep_has_a_bound_and_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_budget, "SPARED_BYTES", 0)
    small = MemoryBudget(4 * len(result("x" * 50)))
    small.add_cache(kept_reads.ALL_KEPT)
    monkeypatch.setattr(kept_reads, "MEMORY_BUDGET", small)
    first, second = KeptReads(), KeptReads()
    for number in range(5):
        first.put(f"x://{number}", "ada", result("x" * 50))
        second.put(f"x://{number}", "ada", result("x" * 50))
    assert (len(first), len(second)) == (2, 2)
    first.clear()
    for number in range(7, 9):
        second.put(f"x://{number}", "ada", result("x" * 50))
    assert len(second) == 4


def test_many_servers_are_spared_no_more_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_budget, "SPARED_BYTES", 2 * len(result("x" * 50)))
    small = MemoryBudget(0)
    small.add_cache(kept_reads.ALL_KEPT)
    monkeypatch.setattr(kept_reads, "MEMORY_BUDGET", small)
    servers = [KeptReads() for _ in range(10)]
    for server in servers:
        server.put("x://a", "ada", result("x" * 50))
    assert sum(map(len, servers)) == 2
