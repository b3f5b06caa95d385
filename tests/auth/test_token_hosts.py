"""Hosts a token may go to: what is kept, what was meant, and what never opens it to everybody."""

from __future__ import annotations

import pytest

from clawft.auth.token_hosts import may_go, meant_host, read_host
from tests.requirements import requirement

pytestmark = requirement("OAUTH-19")


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("api.example.com", "api.example.com"),
        ("API.Example.com", "api.example.com"),
        ("*.example.com", "*.example.com"),
        ("*.a.b.example.com", "*.a.b.example.com"),
        ("localhost:8080", "localhost:8080"),
        ("LocalHost:8080", "localhost:8080"),
        ("my_service", "my_service"),
        ("bücher.example", "bücher.example"),
        ("127.0.0.1:9", "127.0.0.1:9"),
        ("[::1]:8443", "[::1]:8443"),
        ("10.0.0.7", "10.0.0.7"),
        ("http://127.0.0.1/", "127.0.0.1:80"),
        ("https://localhost/", "localhost:443"),
        ("https://api.example.com/v1", "api.example.com"),
        ("https://ada:x@API.example.com:8443/v1?q=1", "api.example.com"),
        ("https://[::1]:8443/", "[::1]:8443"),
        ("https://*.example.com/", "*.example.com"),
    ],
)
def test_a_host_is_kept_as_it_will_be_looked_for(text: str, host: str) -> None:
    assert read_host(text) == host


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", ""),
        ("*", ""),
        ("*.", ""),
        ("*.com", ""),
        ("**.example.com", ""),
        ("*.*.example.com", ""),
        ("*example.com", ""),
        ("*.0.0.1", ""),
        ("api.*.com", ""),
        ("api?.example.com", ""),
        ("[a-z].example.com", ""),
        ("a b", ""),
        ("-a.example.com", ""),
        ("https://", ""),
        ("https://*/", ""),
        ("https://[", ""),
        ("api.example.com:8443", "api.example.com"),
        ("api.example.com/v1", "api.example.com"),
        (" api.example.com", "api.example.com"),
        ("api.example.com.", "api.example.com"),
        ("api.example.com\n", "api.example.com"),
        ("*.example.com:8443", "*.example.com"),
        ("localhost", "localhost:8080"),
        ("127.0.0.1", "127.0.0.1:8080"),
        ("127.0.0.1:", "127.0.0.1:8080"),
        ("10.0.0.7:80", "10.0.0.7"),
    ],
)
def test_what_is_no_host_is_not_kept(text: str, meant: str) -> None:
    assert (read_host(text), meant_host(text)) == ("", meant)


@pytest.mark.parametrize(
    ("host", "kept", "may"),
    [
        ("api.example.com", "api.example.com", True),
        ("api.example.com", "*.example.com", True),
        ("v1.api.example.com", "*.example.com", True),
        ("example.com", "*.example.com", False),
        ("notexample.com", "*.example.com", False),
        ("api.example.com.evil.example", "*.example.com", False),
        ("evil.example", "*", False),
        ("evil.com", "*.com", False),
        ("evil.example", "*.", False),
        ("evil.example", "**", False),
        ("evil.example", "*.*.example", False),
        ("evil.example", "????.example", False),
        ("evil.example", "[a-z]*", False),
        ("api.x", "https://api.x/v1", False),
        ("127.0.0.1:19400", "127.0.0.1:19400", True),
        ("127.0.0.1:19501", "127.0.0.1:19400", False),
        ("127.0.0.1:19400", "127.0.0.1", True),
        ("[::1]:9", "::1", True),
        ("[::1]:9", "[::1]:8", False),
        ("localhost:9", "127.0.0.1:9", False),
        ("api.x", "api.x:443", False),
    ],
)
def test_whatever_was_kept_a_token_goes_to_its_hosts_alone(host: str, kept: str, may: bool) -> None:
    assert may_go(host, (kept,)) is may
