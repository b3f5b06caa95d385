"""The id of a server's task leads back to it, for its caller and nobody else, with no table in between."""

import pytest

from clawft.errors import BadParams
from clawft.gateway.task.handles import MAX_HANDLE_BYTES, PREFIX, Handle, Handles, is_handle
from clawft.model import Caller
from tests.requirements import requirement

ADA, EVE = Caller(principal="ada"), Caller(principal="eve")
TASK = Handle("mcp:peer", "peer__job", "job/1 ünicode")

pytestmark = requirement("RES-12")


def test_an_id_leads_back_after_a_restart_and_on_every_gateway_with_the_key() -> None:
    id = Handles(b"k" * 32).close(TASK, ADA)
    assert is_handle(id)
    assert id.isascii()
    assert Handles(b"k" * 32).open(id, ADA) == TASK


def test_another_caller_another_key_or_a_changed_id_find_nothing() -> None:
    handles = Handles(b"k" * 32)
    id = handles.close(TASK, ADA)
    for stranger, wrong in ((EVE, id), (ADA, id[:-2] + "AA"), (ADA, PREFIX), (ADA, PREFIX + "ü"), (ADA, PREFIX + "!")):
        with pytest.raises(BadParams, match="unknown task"):
            handles.open(wrong, stranger)
    with pytest.raises(BadParams, match="unknown task"):
        Handles(b"x" * 32).open(id, ADA)
    with pytest.raises(BadParams, match="unknown task"):
        handles.open(PREFIX + "A" * MAX_HANDLE_BYTES, ADA)


def test_the_border_between_principal_and_body_cannot_be_moved() -> None:
    handles = Handles(b"k" * 32)
    ids = {handles.close(Handle(f"b{n}", "t", "1"), Caller(principal="a" * n)) for n in range(1, 4)}
    assert len(ids) == 3
