"""What our caller writes on our stdin."""

from codecs import BOM_UTF8

import pytest

from clawft.link.stdio_in import CallerReader
from clawft.wire.framing import TooLong
from tests.requirements import requirement


@requirement("SHELL-01")
@pytest.mark.parametrize(
    "pieces", [[BOM_UTF8 + b"{}\n[]\n"], [b"\xef", b"\xbb\xbf{}", b"\n[]\n"], [BOM_UTF8 + b"\n{}\n[]\n"]]
)
async def test_a_mark_before_the_first_line_is_no_part_of_it(pieces: list[bytes]) -> None:
    lines: list[bytes | TooLong] = []
    reader = CallerReader(lines.append)
    for piece in pieces:
        reader.data_received(piece)
    assert lines == [b"{}", b"[]"]


@requirement("SHELL-01")
async def test_a_mark_anywhere_else_is_what_it_is() -> None:
    lines: list[bytes | TooLong] = []
    reader = CallerReader(lines.append)
    reader.data_received(b"{}\n" + BOM_UTF8 + b"{}\n")
    assert lines == [b"{}", BOM_UTF8 + b"{}"]
