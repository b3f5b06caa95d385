"""Ids of a link begin anywhere; here at one, so that a test can say which."""

import pytest

from clawft.link import stream
from clawft.link.http_out import link, sse


@pytest.fixture(autouse=True)
def ids_from_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (stream, link, sse):
        monkeypatch.setattr(module, "before_first_id", lambda: 0)
