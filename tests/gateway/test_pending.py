"""Who waits for servers that are on their way: whoever wants what is not there yet, and nobody else."""

from typing import Any

import pytest

from tests.gateway.support import Late, modern, pipe, serving
from tests.gateway.test_content import Library
from tests.requirements import requirement

TYPED = {"name": "who", "value": "a"}
THERE: list[tuple[str, dict[str, Any]]] = [
    ("prompts/get", {"name": "lib__plain"}),
    ("resources/read", {"uri": "x://a"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "lib__ask"}, "argument": TYPED}),
]
NOT_THERE: list[tuple[str, dict[str, Any]]] = [
    ("prompts/get", {"name": "lib__other"}),
    ("resources/read", {"uri": "y://a"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "lib__other"}, "argument": TYPED}),
]
ERAS = ("2025-11-25", "2026-07-28")


@requirement("POOL-15")
@pytest.mark.parametrize(
    ("method", "params", "revision", "waits"),
    [
        *((method, params, era, 0) for method, params in THERE for era in ERAS),
        *((method, params, era, 1) for method, params in NOT_THERE for era in ERAS),
        ("resources/subscribe", {"uri": "x://b"}, ERAS[0], 0),
        ("resources/subscribe", {"uri": "y://b"}, ERAS[0], 1),
    ],
)
async def test_what_is_there_waits_for_no_server_that_is_on_its_way(
    method: str, params: dict[str, Any], revision: str, waits: int
) -> None:
    gateway = serving(Library("lib"))
    async with pipe(gateway) as caller:
        if revision == ERAS[0]:
            await caller.initialize(revision)
        else:
            params = modern(**params)
        gateway.pending.servers = late = Late()
        answer = await caller.ask(method, params)
        assert late.waits == waits
        assert ("result" in answer) is (not waits or method == "resources/subscribe")
