"""What is remembered of the sandboxes that work here."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from clawft.sandbox.means import means

FULL = "import sys; from pathlib import Path; from clawft.sandbox.means import means; means(Path(sys.argv[1]))"


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of files stands for a disk that is full")
def test_a_record_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    def disk_is_full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    command = [sys.executable, "-B", "-c", FULL, str(tmp_path / "cache")]
    subprocess.run(command, preexec_fn=disk_is_full, env={**os.environ, "HOME": str(tmp_path)}, timeout=60, check=True)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_record_stands_alone_in_its_folder(tmp_path: Path) -> None:
    found = means(tmp_path / "home" / "cache")
    assert [path.name for path in (tmp_path / "home" / "cache").iterdir()] == ["sandbox.json"]
    assert means(tmp_path / "home" / "cache") == found
