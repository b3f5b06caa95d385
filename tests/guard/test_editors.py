"""What editors hold, beside calls of our own tools."""

import json
from collections.abc import Sequence

import msgspec
import pytest

from clawft.guard.editors import EditorsGuard
from clawft.model import Origin, Reply
from tests.guard.support import answers, call
from tests.requirements import requirement


class Held:
    """Editors that note what they are asked about."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.announced: list[str | None] = []

    def unsaved(self, beneath: str = ".") -> Sequence[str]:
        self.asked.append(beneath)
        return ()

    def overtaken(self, beneath: str = ".") -> Sequence[str]:
        return ()

    def changed_on_disk(self, path: str | None = None) -> Sequence[str]:
        self.announced.append(path)
        return ()


@requirement("QUAL-03")
@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({"path": "src/a.py"}, "src/a.py"),
        ({}, "."),
        ({"path": 7}, "."),
        ({"path": "/a" * 1_400_000}, "."),
    ],
)
async def test_a_path_that_nobody_could_follow_is_none(arguments: object, about: str) -> None:
    """Following one of megabytes takes many minutes, and this is on everybody's way."""
    held = Held()
    asked = msgspec.structs.replace(call(json.dumps(arguments).encode()), origin=Origin("file"))
    await EditorsGuard(lambda: held)(asked, answers(Reply.text("refused")))
    assert (held.asked, held.announced) == ([about], [None if about == "." else about])
