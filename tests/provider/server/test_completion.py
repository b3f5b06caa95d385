"""What a server answers to a completion: its values are told whatever it says of their number."""

import json

import pytest

from clawft.provider.server.completion import incoming
from tests.requirements import requirement


def completion_in(completion: str) -> dict[str, object]:
    return json.loads(incoming(b'{"completion":%b}' % completion.encode()).raw)["completion"]


@requirement("RES-11", "WIRE-21")
@pytest.mark.parametrize("total", ["10.0", "1e1", "10", "12345678901234567890"])
def test_a_whole_number_passes_however_it_is_written(total: str) -> None:
    result = incoming(b'{"completion":{"values":["a"],"total":%b,"hasMore":false}}' % total.encode())
    assert result.values == ["a"]
    assert f'"total":{total}'.encode() in result.raw


@requirement("RES-11")
@pytest.mark.parametrize(
    "odd", ['"total":null', '"total":"10"', '"total":1.5', '"total":-1', '"hasMore":0', '"hasMore":null']
)
def test_a_count_that_is_none_is_left_out_and_the_values_stay(odd: str) -> None:
    assert completion_in(f'{{"values":["a","b"],{odd}}}') == {"values": ["a", "b"]}


@requirement("RES-11")
@pytest.mark.parametrize("none", ["{}", '{"values":null}'])
def test_no_values_are_an_empty_list(none: str) -> None:
    assert completion_in(none) == {"values": []}
