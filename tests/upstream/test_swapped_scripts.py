"""A server whose script is another between the look at it and its start: whoever may write there was quick enough."""

import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from clawft.config.scripts import read_pinned
from clawft.link.base import Link
from clawft.sandbox.probe import probe
from clawft.upstream.cells import Cells
from clawft.upstream.links import links_to
from clawft.upstream.pool import Pool
from clawft.upstream.spec import UpstreamSpec
from tests.requirements import requirement

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")

CONNECT_S = 20.0
TINY = (Path(__file__).parents[1] / "servers" / "tiny.py").read_text()


def rewritten(script: Path) -> None:
    script.write_text(script.with_name("evil.py").read_text())


def replaced(script: Path) -> None:
    os.replace(script.with_name("evil.py"), script)


def nobody(script: Path) -> None:
    pass


@pytest.fixture
def script(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "evil.py").write_text(f"open('ran', 'w').close()\n{TINY}")
    (folder / "server.py").write_text(TINY)
    return folder / "server.py"


@asynccontextmanager
async def started(script: Path, swap: Callable[[Path], None], *, held: bool) -> AsyncGenerator[str]:
    """Its status, of a server that was let through, and then swapped."""
    spec = UpstreamSpec("db", command=sys.executable, args=("server.py",), cwd=str(script.parent))
    cells = Cells(script.parent.parent / "home", script.parent) if held else None

    async def clearance(spec: UpstreamSpec) -> list[Callable[[], Link]]:
        pinned = tuple(read_pinned([str(script)], str(script.parent)))
        swap(script)
        return links_to(spec, cells=cells, pinned=pinned)

    pool = Pool(script.parent.parent / "cache", links_to, [])
    pool.clearance = clearance
    try:
        await pool.set_servers({"db": spec}, seconds=CONNECT_S)
        status = pool.server_status("db")
        yield f"{status.status} {status.error}"
    finally:
        await pool.close()


@requirement("CONF-16", "POOL-19")
@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("swap", [rewritten, replaced])
async def test_it_is_not_believed(script: Path, swap: Callable[[Path], None], held: bool) -> None:
    async with started(script, swap, held=held) as told:
        assert told == f"pending db was stopped: {script} was changed while it was started"


@requirement("CONF-16", "POOL-19")
@pytest.mark.parametrize("swap", [rewritten, replaced])
async def test_behind_a_wall_the_other_does_not_even_run(script: Path, swap: Callable[[Path], None]) -> None:
    if probe().level != "bwrap":
        pytest.skip(f"there is no wall without bubblewrap: {probe().reason}; this is NOT tested")
    async with started(script, swap, held=True):
        assert not script.with_name("ran").exists()


@requirement("CONF-16")
@pytest.mark.parametrize("held", [True, False])
async def test_one_that_nobody_touches_is_connected(script: Path, held: bool) -> None:
    async with started(script, nobody, held=held) as told:
        assert told == "connected "


@requirement("CONF-16")
async def test_what_is_in_its_scripts_is_not_kept_for_as_long_as_it_runs(script: Path) -> None:
    files = tuple(read_pinned([str(script)], str(script.parent)))
    before = sys.getrefcount(files)
    spec = UpstreamSpec("db", command=sys.executable, args=("server.py",), cwd=str(script.parent))
    (way,) = links_to(spec, cells=Cells(script.parent.parent / "home", script.parent), pinned=files)
    link = way()
    del way
    await link.open(lambda message, stream: None, lambda error: None)
    try:
        assert link.child is not None
        assert not any(file.touched for file in link.child.pinned)
        after = sys.getrefcount(files)
        assert after == before
        replaced(script)
        assert [file.path for file in link.child.pinned if file.touched] == [str(script)]
    finally:
        await link.close()
