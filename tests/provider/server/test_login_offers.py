"""A login that a running weft offers, as other commands find it: whatever stands in its file, nothing breaks."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import pytest

from clawft.provider.server.login_offers import MAX_OFFER_BYTES, LoginOffer, offered
from tests.requirements import requirement

GOOD = msgspec.json.encode(LoginOffer("https://login.example/", time.time() + 3_600, os.getpid()))


@requirement("LINK-26")
def test_the_address_is_found(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_bytes(GOOD)
    assert offered(tmp_path, "one") == "https://login.example/"
    assert offered(tmp_path, "two") == ""


@requirement("LINK-26")
@pytest.mark.parametrize(
    "spoiled",
    [
        GOOD.replace(b"login", b"\xff"),
        GOOD.replace(b'"pid":%d' % os.getpid(), b'"pid":%d' % 10**18),
        b'{"x":' + b"[" * (MAX_OFFER_BYTES - 10),
        GOOD[:-1] + b" " * MAX_OFFER_BYTES + b"}",
    ],
    ids=["no text", "a pid beyond all", "deep", "long"],
)
def test_a_spoiled_one_is_none(tmp_path: Path, spoiled: bytes) -> None:
    (tmp_path / "one.json").write_bytes(spoiled)
    assert offered(tmp_path, "one") == ""


@requirement("LINK-26")
def test_nobody_waits_for_a_pipe_in_its_place(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "one.json")
    assert offered(tmp_path, "one") == ""
