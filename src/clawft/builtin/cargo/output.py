"""The result of a run of cargo."""

from typing import Any

from clawft.builtin.build.output import RunOutput


class CargoOutput(RunOutput, frozen=True, kw_only=True):
    """How a run of cargo ended."""

    messages: tuple[dict[str, Any], ...] = ()
    """JSON messages of cargo, as they came, as far as there is room."""
