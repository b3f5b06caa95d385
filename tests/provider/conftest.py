"""What tests of providers share: a way to make a provider of some functions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.provider.function import FunctionProvider
from clawft.store.memory import MemoryStore

Offer = Callable[..., FunctionProvider]


@pytest.fixture
def offer(workspace: Path) -> Offer:
    """`offer(greet, add)` is a provider of these tools."""

    def make(*functions: Callable[..., Any]) -> FunctionProvider:
        return FunctionProvider("demo", functions, workspace=workspace, store=MemoryStore())

    return make
