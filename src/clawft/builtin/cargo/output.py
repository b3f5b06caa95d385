"""The result of a run of cargo."""

from typing import Any

from clawft.builtin.build.fit import first_of
from clawft.builtin.build.run import Output

MAX_MESSAGES_BYTES = 8 * 1024
"""Of cargo's own messages in a result. What the compiler found is in `diagnostics`, in a shorter form."""


class CargoOutput(Output, frozen=True, kw_only=True):
    """How a run of cargo ended."""

    messages: tuple[dict[str, Any], ...] = ()
    """JSON messages of cargo, as they came, as far as there is room."""


def fit_messages(messages: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    return first_of(messages, MAX_MESSAGES_BYTES)
