"""Settings that are edited while we run: told where they count later, and only there."""

from clawft.config.edited_settings import differing
from tests.requirements import requirement

BEFORE = b"""
[tools]
deny = ["a"]
[gateway.auth]
issuer = "https://login.example.com"
grants = [{ subject = "ada", allow = ["*"] }]
"""


@requirement("CONF-21")
def test_rules_for_people_count_at_once_and_the_rest_later() -> None:
    revoked = BEFORE.replace(b'allow = ["*"]', b"allow = []")
    assert differing(BEFORE, revoked, "config.toml") == []
    other = revoked.replace(b"login.example.com", b"id.example.com").replace(b'["a"]', b'["b"]')
    assert differing(BEFORE, other, "config.toml") == ["tools.deny", "gateway.auth.issuer"]
