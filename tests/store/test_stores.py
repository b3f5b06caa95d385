"""What every store promises, checked on both of ours; and what only the one in files has to keep."""

import asyncio
import json
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clawft.errors import Busy, ExecutionFailed, InvalidArguments
from clawft.store import entry, files
from clawft.store.base import KeyValueStore
from clawft.store.entry import MAX_KEY_BYTES, MAX_VALUE_BYTES
from clawft.store.file_locks import locked
from clawft.store.files import FileStore, state_folder
from clawft.store.memory import MemoryStore
from clawft.store.names import key_name
from tests.requirements import requirement


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["files", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> KeyValueStore:
    return FileStore(tmp_path / "store", clock) if request.param == "files" else MemoryStore(clock)


# ── every store ──────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("PLUG-05", "F6-A08")
async def test_what_was_set_is_found_until_it_is_deleted(store: KeyValueStore) -> None:
    assert await store.get("a") is None
    await store.set("a", "1")
    await store.set("a", "zwei\n\0ü🎈")
    assert await store.get("a") == "zwei\n\0ü🎈"
    assert await store.delete("a")
    assert not await store.delete("a")
    assert await store.get("a") is None


@requirement("PLUG-05")
async def test_keys_are_listed_in_order_and_by_prefix(store: KeyValueStore) -> None:
    for key in ("b/2", "a", "b/1", "B"):
        await store.set(key, "")
    assert await store.list_keys() == ["B", "a", "b/1", "b/2"]
    assert await store.list_keys("b/") == ["b/1", "b/2"]
    assert await store.list_keys("nothing") == []


@requirement("PLUG-05")
async def test_a_lifetime_ends(store: KeyValueStore, clock: Clock) -> None:
    await store.set("short", "x", ttl=10)
    await store.set("long", "x")
    clock.now += 9.9
    assert await store.get("short") == "x"
    clock.now += 0.1
    assert await store.list_keys() == ["long"]
    assert not await store.delete("short")
    assert await store.get("short") is None


@requirement("PLUG-05")
async def test_setting_again_starts_a_new_life(store: KeyValueStore, clock: Clock) -> None:
    await store.set("a", "x", ttl=10)
    await store.set("a", "y")
    clock.now += 11
    assert await store.get("a") == "y"


@requirement("PLUG-05")
async def test_compare_and_set_writes_only_over_what_was_expected(store: KeyValueStore) -> None:
    assert await store.compare_and_set("a", None, "1")
    assert not await store.compare_and_set("a", None, "2")
    assert not await store.compare_and_set("a", "0", "2")
    assert await store.compare_and_set("a", "1", "2")
    assert await store.get("a") == "2"


@requirement("PLUG-05")
async def test_compare_and_set_keeps_the_lifetime_and_takes_expired_for_absent(
    store: KeyValueStore, clock: Clock
) -> None:
    await store.set("a", "1", ttl=10)
    assert await store.compare_and_set("a", "1", "2")
    clock.now += 10
    assert await store.get("a") is None
    assert not await store.compare_and_set("a", "2", "3")
    assert await store.compare_and_set("a", None, "3")


@requirement("PLUG-05")
@pytest.mark.parametrize(
    ("key", "value", "ttl"),
    [
        ("", "x", None),
        ("k" * (MAX_KEY_BYTES + 1), "x", None),
        ("\ud800", "x", None),
        ("k", "\ud800", None),
        ("k", "v" * (MAX_VALUE_BYTES + 1), None),
        ("k", "v", 0),
        ("k", "v", -1),
        ("k", "v", float("nan")),
        ("k", "v", float("inf")),
    ],
    ids=["empty", "long key", "odd key", "odd value", "long value", "zero", "negative", "nan", "inf"],
)
async def test_what_cannot_be_kept_is_refused_with_a_hint(
    store: KeyValueStore, key: str, value: str, ttl: float | None
) -> None:
    with pytest.raises(InvalidArguments) as refused:
        await store.set(key, value, ttl)
    assert refused.value.hint
    assert await store.list_keys() == []


@requirement("PLUG-05")
async def test_the_largest_key_and_value_fit(store: KeyValueStore) -> None:
    key, value = "K" * MAX_KEY_BYTES, "v" * MAX_VALUE_BYTES
    await store.set(key, value)
    assert await store.get(key) == value
    assert await store.list_keys() == [key]


@requirement("PLUG-05")
async def test_the_number_of_keys_is_bounded_but_the_expired_make_room(
    store: KeyValueStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("clawft.store.files", "clawft.store.memory"):
        monkeypatch.setattr(f"{module}.MAX_KEYS", 3)
    assert entry.MAX_KEYS > 3
    for key in "abc":
        await store.set(key, "x", ttl=10 if key == "b" else None)
    with pytest.raises(InvalidArguments):
        await store.set("d", "x")
    await store.set("a", "still fine")
    clock.now += 10
    await store.set("d", "x")
    assert await store.list_keys() == ["a", "c", "d"]


@requirement("PLUG-05")
async def test_of_many_tasks_that_compare_and_set_one_wins(store: KeyValueStore) -> None:
    won = await asyncio.gather(*(store.compare_and_set("a", None, str(number)) for number in range(10)))
    assert won.count(True) == 1
    assert await store.get("a") == str(won.index(True))


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────

ODD_KEYS = [
    "../up",
    "..",
    ".",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "a\0b",
    ".lock",
    ".tmp-1",
    "CON",
    "a" * 300,
    "ü",
    "%2e",
    "a.",
    " ",
]


@requirement("PLUG-06")
async def test_odd_keys_stay_in_their_folder_and_apart(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "in" / "store")
    for key in ODD_KEYS:
        await store.set(key, f"value of {key}")
    assert [await store.get(key) for key in ODD_KEYS] == [f"value of {key}" for key in ODD_KEYS]
    assert await store.list_keys() == sorted(ODD_KEYS)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["store"]
    assert all(path.is_file() for path in (tmp_path / "in" / "store").iterdir())


@requirement("PLUG-06")
@given(st.text(min_size=1, max_size=400), st.text(min_size=1, max_size=400))
def test_names_of_files_are_plain_and_never_shared(one: str, other: str) -> None:
    name = key_name(one)
    assert len(name) < 255
    assert not set(name) & set('/\\\0:*?"<>|')
    assert name[0] != "."
    assert (name.lower() == key_name(other).lower()) == (one == other)


@requirement("PLUG-06")
async def test_files_and_folders_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "store"
    await FileStore(folder).set("key", "value")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a", folder, *folder.iterdir())}
    assert modes == {"a": 0o700, "store": 0o700, "k.key": 0o600, ".lock": 0o600}


@requirement("PLUG-06")
@pytest.mark.parametrize(
    ("agent", "plugin", "relative"),
    [
        ("default", "com.clawft.plugin-oauth2", "agents/default/tool_state/com.clawft.plugin-oauth2"),
        ("../../x", "..", "agents/%2e.%2f..%2fx/tool_state/%2e%2e"),
        ("", "a/b", "agents/%/tool_state/a%2fb"),
        ("Bob", "ü", "agents/Bob/tool_state/%c3%bc"),
    ],
)
def test_state_lies_in_the_folder_of_its_agent_and_plugin(home: Path, agent: str, plugin: str, relative: str) -> None:
    assert state_folder(agent, plugin) == home / relative


@requirement("PLUG-06")
def test_a_long_name_still_makes_a_folder(home: Path) -> None:
    one, other = state_folder("x" * 500, "p"), state_folder("x" * 501, "p")
    one.mkdir(parents=True)
    assert one != other


@requirement("PLUG-06")
async def test_an_expired_secret_does_not_stay_on_disk(tmp_path: Path, clock: Clock) -> None:
    store = FileStore(tmp_path, clock)
    await store.set("oauth2_pkce_x", "verifier", ttl=600)
    clock.now += 600
    assert await store.get("oauth2_pkce_x") is None
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


@requirement("PLUG-06")
async def test_what_is_written_while_an_expired_value_is_found_stays(tmp_path: Path) -> None:
    """Another process writes between our look at the old value and the removal of its file."""
    written = iter([b'{"key":"a","expires":null}\nnew'])

    def clock() -> float:
        for whole in written:
            (tmp_path / "k.a").write_bytes(whole)
        return 2e12

    await FileStore(tmp_path).set("a", "old", ttl=1)
    assert await FileStore(tmp_path, clock).get("a") is None
    assert await FileStore(tmp_path).get("a") == "new"


@requirement("PLUG-06")
async def test_an_expired_value_whose_file_cannot_go_is_over_all_the_same(tmp_path: Path, clock: Clock) -> None:
    store = FileStore(tmp_path, clock)
    await store.set("a", "1", ttl=600)
    clock.now += 600
    (tmp_path / ".lock").unlink()
    (tmp_path / ".lock").mkdir()
    assert await store.get("a") is None


@requirement("PLUG-06")
@pytest.mark.parametrize("head", [b'{"key":"\xff","expires":null}', b'{"a":' + b"[" * 5_000])
async def test_whatever_stands_in_a_file_does_not_hide_the_others(tmp_path: Path, head: bytes) -> None:
    store = FileStore(tmp_path)
    await store.set("good", "1")
    (tmp_path / "k.bad").write_bytes(head + b"\nvalue")
    (tmp_path / "k.folder").mkdir()
    assert await store.list_keys() == ["good"]
    for key in ("bad", "folder"):
        with pytest.raises(ExecutionFailed, match=rf"k\.{key}"):
            await store.get(key)


@requirement("PLUG-06")
async def test_a_lock_that_nobody_gives_back_holds_up_writers_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack: a process that is stopped while it holds the lock, and more writers than there are threads."""
    patience = 0.5
    monkeypatch.setattr(files, "LOCK_SECONDS", patience)
    store = FileStore(tmp_path)
    await store.set("a", "1")
    with locked(tmp_path / ".lock"):
        began = time.monotonic()
        writers = [asyncio.ensure_future(store.set(f"k{number}", "2")) for number in range(60)]
        assert await store.get("a") == "1"
        assert not any(writer.done() for writer in writers), "who reads waits for nobody"
        ended = await asyncio.gather(*writers, return_exceptions=True)
        assert time.monotonic() - began < 5 * patience, "all have waited at the same time"
    assert {type(each) for each in ended} == {Busy}
    await store.set("a", "3")
    assert await store.get("a") == "3"


@requirement("PLUG-06")
async def test_a_damaged_file_is_named_and_does_not_hide_the_others(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await store.set("good", "1")
    await store.set("bad", "2")
    (tmp_path / "k.bad").write_bytes(b"\xff")
    with pytest.raises(ExecutionFailed, match=r"k\.bad"):
        await store.get("bad")
    assert await store.list_keys() == ["good"]
    await store.set("bad", "3")
    assert await store.get("bad") == "3"


@requirement("PLUG-06")
async def test_what_a_killed_writer_left_is_swept_up(tmp_path: Path) -> None:
    (tmp_path / ".tmp-0123").write_bytes(b"half")
    store = FileStore(tmp_path)
    assert await store.list_keys() == []
    await store.set("a", "1")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "k.a"]


# ── other processes ──────────────────────────────────────────────────────────────────────────────────────────────────

COUNT_UP = """
import asyncio, sys
from pathlib import Path
from clawft.store.files import FileStore

async def main():
    store, won = FileStore(Path(sys.argv[1])), 0
    while won < int(sys.argv[2]):
        old = await store.get("count")
        won += await store.compare_and_set("count", old, str(int(old or 0) + 1))

asyncio.run(main())
"""

SET_FOR_EVER = """
import asyncio, sys
from pathlib import Path
from clawft.store.files import FileStore

async def main():
    store, turn = FileStore(Path(sys.argv[1])), 0
    while True:
        turn += 1
        await store.set("key", f"{turn % 10}" * 200_000)
        if turn == 3:
            print("going", flush=True)

asyncio.run(main())
"""

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start():
    started: list[subprocess.Popen[bytes]] = []

    def start_script(script: str, *arguments: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE))
        return started[-1]

    yield start_script
    for process in started:
        process.kill()
        process.communicate(timeout=30)


@requirement("PLUG-05", "PLUG-06")
async def test_four_processes_that_count_lose_no_step(tmp_path: Path, start: Start) -> None:
    for process in [start(COUNT_UP, str(tmp_path), "15") for _ in range(4)]:
        assert await asyncio.to_thread(process.wait, 60) == 0
    assert await FileStore(tmp_path).get("count") == "60"


@requirement("PLUG-06")
async def test_killing_a_writer_leaves_a_whole_value(tmp_path: Path, start: Start) -> None:
    store = FileStore(tmp_path)
    for _ in range(4):
        process = start(SET_FOR_EVER, str(tmp_path))
        assert process.stdout
        await asyncio.to_thread(process.stdout.readline)
        process.kill()
        await asyncio.to_thread(process.wait, 30)
        value = await store.get("key")
        assert value is not None
        assert value == value[0] * 200_000
    await store.set("key", "free again")
    assert await store.get("key") == "free again"


@requirement("PLUG-05")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("set"), st.sampled_from("abC"), st.text(max_size=3)),
            st.tuples(st.just("delete"), st.sampled_from("abC"), st.just("")),
            st.tuples(st.just("cas"), st.sampled_from("abC"), st.sampled_from(["", "x"])),
        ),
        max_size=8,
    )
)
async def test_files_and_memory_answer_alike(tmp_path: Path, steps: list[tuple[str, str, str]]) -> None:
    on_disk, in_memory = FileStore(tmp_path / json.dumps(steps).encode().hex()[:50]), MemoryStore()
    for store in (on_disk, in_memory):
        for key in "abC":
            await store.delete(key)
    for step in steps:
        assert await _do(on_disk, *step) == await _do(in_memory, *step)
    assert await on_disk.list_keys() == await in_memory.list_keys()


async def _do(store: KeyValueStore, what: str, key: str, value: str) -> object:
    if what == "set":
        return await store.set(key, value)
    if what == "delete":
        return await store.delete(key)
    return await store.compare_and_set(key, await store.get("a"), value), await store.get(key)
