"""`weft` as a process: what a person types, and what comes back."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.held import means

SECONDS = 60.0


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Done]


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """Ours without what would change colours or widths."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    return {**kept, "CLAWFT_HOME": str(home), "TERM": "xterm"}


@pytest.fixture
def run(weft: list[str], workspace: Path, environment: Mapping[str, str]) -> Run:
    def run(*words: str, stdin: str = "", **more: str) -> Done:
        done = subprocess.run(
            [*weft, *words],
            cwd=workspace,
            env={**environment, **more},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def bubblewrap() -> None:
    """Skipped, loudly, where it is missing: the servers of these tests use files among the temporary ones, where
    Landlock, which holds them then, refuses what bubblewrap lets them have.
    """
    means("bwrap")
