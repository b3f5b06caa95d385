"""The key of a model's API: held so that no log, repr or error shows it."""

from __future__ import annotations

from clawft.errors import InvalidConfig
from clawft.store.secrets import resolve

HIDDEN = "***"
SHORTEST_IN_ANSWERS = 16
"""A shorter one is a word for a server that wants none, such as `ollama`, and may stand in any answer."""


class ApiKey:
    __slots__ = ("_secret",)

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def __repr__(self) -> str:
        return f"ApiKey({HIDDEN})"

    def reveal(self) -> str:
        """The key itself, for the one place that sends it."""
        return self._secret

    def hidden_in(self, text: str) -> str:
        """The text without the key, should somebody have echoed it."""
        return text.replace(self._secret, HIDDEN) if self._secret else text

    def hidden_in_answer(self, text: str) -> str:
        """A model's text without the key, as it goes on to agents and tools."""
        return self.hidden_in(text) if len(self._secret) >= SHORTEST_IN_ANSWERS else text


def read_key(reference: str) -> ApiKey:
    """Raises InvalidConfig, which names the reference and never the secret."""
    secret = resolve(reference).strip() if reference else ""
    if reference and not secret:
        raise InvalidConfig(f"{reference} is empty", hint="put the key there")
    return ApiKey(secret)
