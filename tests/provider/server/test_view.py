"""Results as text for agents."""

import json
from typing import Any

import pytest

from clawft.errors import ExecutionFailed
from clawft.provider.server.view import agent_view
from tests.requirements import requirement


def view(**result: Any) -> Any:
    return agent_view("tool", json.dumps(result).encode())


@requirement("SESS-16", "FR-004", "T-5.1", "T-5.4", "T-5.5", "S2-P5-01", "S3-E05")
def test_texts_are_joined_and_other_blocks_skipped() -> None:
    blocks = [
        {"type": "text", "text": "a"},
        "b",
        {"type": "image", "data": "x"},
        {"type": "text"},
        7,
        {"type": "text", "text": "c"},
    ]
    assert view(content=blocks) == {"output": "abc"}
    assert view(content=[]) == {"output": ""}
    assert view(content="odd", isError=False) == {"output": ""}


@requirement("SESS-17", "T-5.2", "S3-E06")
def test_an_error_is_raised_with_its_text_or_the_tools_name() -> None:
    with pytest.raises(ExecutionFailed, match=r"^too hot$"):
        view(content=[{"type": "text", "text": "too hot"}], isError=True)
    with pytest.raises(ExecutionFailed, match=r"^tool failed"):
        view(isError=True)


@requirement("SESS-18", "T-5.3")
def test_a_result_of_another_shape_is_given_back_as_it_is() -> None:
    assert view(temperature=21) == {"temperature": 21}
