"""What a person is told of a call is what the guard makes of it."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.guard.security import Security, named_only
from clawft.guard.security_explained import explained
from clawft.model import Allow, Deny
from clawft.model.verdict import combined, severity
from clawft.policy.command import CommandPolicy
from clawft.policy.url import UrlPolicy
from tests.requirements import requirement

TOOL = "demo__do"
COMMANDS, URLS = CommandPolicy(), UrlPolicy()


async def places(host: str) -> Sequence[str]:
    return ("10.1.1.1",) if host == "in.test" else ("93.184.215.14",)


async def both(arguments: bytes, tool: str = TOOL) -> tuple[int, int]:
    """How severe the guard is, and how severe it is told to be."""
    judged = await Security(COMMANDS, URLS, places).judge(arguments, named_only(tool))
    told = combined([each.verdict for each in await explained(tool, arguments, COMMANDS, URLS, places)])
    return severity(judged), severity(told)


_texts = st.sampled_from(
    ["ls", "sudo ls", "rm -rf /", "http://in.test/", "http://out.test/", "http://10.1.1.1/", "http://[::1]/", "plain"]
)


@requirement("GUARD-13")
@given(st.dictionaries(st.sampled_from(["command", "url", "redirect_uri", "x"]), _texts | st.lists(_texts, max_size=3)))
async def test_the_strictest_of_all_rules_is_the_verdict_of_the_guard(arguments: dict[str, object]) -> None:
    for tool in (TOOL, "oauth2__authorize"):
        judged, told = await both(json.dumps(arguments).encode(), tool)
        assert judged == told


@requirement("GUARD-13")
async def test_an_address_that_is_only_named_is_told_of_no_more_than_it_is_judged() -> None:
    arguments = b'{"redirect_uri":"http://127.0.0.1:9/back"}'
    assert await explained("oauth2__authorize", arguments, COMMANDS, URLS, places) == []
    assert isinstance(combined([each.verdict for each in await explained(TOOL, arguments, COMMANDS, URLS)]), Deny)


@pytest.mark.parametrize("arguments", [b'{"command":"ls","command":"rm"}', b'{"command":"ls","n":1e999}'])
@requirement("GUARD-13")
async def test_arguments_that_cannot_be_judged_are_told_as_refused(arguments: bytes) -> None:
    (only,) = await explained(TOOL, arguments, COMMANDS, URLS, places)
    assert isinstance(only.verdict, Deny)
    assert only.rule == "unreadable"


@requirement("GUARD-13")
async def test_what_a_name_stands_for_is_told() -> None:
    found = await explained(TOOL, b'{"url":"http://out.test/"}', COMMANDS, URLS, places)
    told = [each.verdict.reason for each in found if isinstance(each.verdict, Allow)]
    assert "out.test resolves to: 93.184.215.14" in told
