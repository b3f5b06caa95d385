"""Temporary folders where Landlock has to do: each child has its own, and none outlives weft for long."""

import os
import sys
import time
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.servers.pipe import mcp_server
from tests.servers.weft import ROOT

if sys.platform != "linux":
    pytest.skip("Landlock is of Linux", allow_module_level=True)

from clawft.sandbox import temporary
from clawft.sandbox.probe import probe

LONG_AGO = time.time() - 10 * temporary.MIN_AGE_SECONDS


def left(base: Path, name: str) -> Path:
    folder = base / f"{temporary.PREFIX}{name}"
    (folder / "child" / "deep").mkdir(parents=True)
    (folder / "child" / "deep" / "file").write_text("left")
    os.utime(folder, (LONG_AGO, LONG_AGO))
    return folder


@requirement("POOL-21")
def test_what_a_killed_weft_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    abandoned, held, young = (left(tmp_path, name) for name in ("abandoned", "held", "young"))
    os.utime(young)
    descriptor = temporary._lock(str(held))  # pyright: ignore[reportPrivateUsage]  # as its weft does
    outside = tmp_path / "outside"
    (outside / "precious").mkdir(parents=True)
    (tmp_path / f"{temporary.PREFIX}link").symlink_to(outside)
    (abandoned / "child" / "link").symlink_to(outside)
    temporary.sweep(str(tmp_path))
    assert not abandoned.exists()
    assert (held / "child").exists()
    assert (young / "child").exists()
    assert (outside / "precious").exists()
    assert descriptor is not None
    os.close(descriptor)
    temporary.sweep(str(tmp_path))
    assert not held.exists()


@requirement("POOL-21")
@pytest.mark.slow
async def test_none_is_left_after_a_stop_and_after_a_kill_until_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if probe(bubblewrap=False).level != "landlock":
        pytest.skip("no Landlock here")
    base, programs = tmp_path / "temporary", tmp_path / "bin"
    for folder in (base, programs, tmp_path / "home" / "mcp_servers"):
        folder.mkdir(parents=True)
    for name in ("setpriv", "prlimit", "unshare", "true"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    monkeypatch.setenv("TMPDIR", str(base))
    monkeypatch.setenv("PATH", str(programs))
    tiny = ROOT / "tests" / "servers" / "tiny.py"
    entry = f'trust = "trusted"\ncommand = {sys.executable!r}\nargs = [{str(tiny)!r}]\n'
    (tmp_path / "home" / "mcp_servers" / "tiny.toml").write_text(entry)

    async def folders(*, kill: bool) -> list[Path]:
        async with mcp_server(tmp_path, "--no-builtin") as pipe:
            await pipe.open()
            await pipe.ask("tools/call", {"name": "tiny__echo", "arguments": {"text": "1"}})
            during = list(base.iterdir())
            if kill:
                pipe.process.kill()
        return during

    assert len(await folders(kill=False)) == 1
    assert list(base.iterdir()) == []
    (killed,) = await folders(kill=True)
    assert list(base.iterdir()) == [killed]
    os.utime(killed, (LONG_AGO, LONG_AGO))
    for _ in range(10):
        if killed.exists():
            await folders(kill=False)  # it sweeps beside its work, and may have had none to speak of
    assert list(base.iterdir()) == []
