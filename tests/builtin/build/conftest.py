"""A workspace the user trusts."""

from tests.builtin.build.trusting import trusting

__all__ = ["trusting"]
