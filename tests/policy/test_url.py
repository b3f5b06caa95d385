"""Where a fetch may go."""

import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.model import Allow, Deny
from clawft.policy.address import is_loopback
from clawft.policy.url import MAX_URL, UrlPolicy, decide, explain, host_of, literal_addresses
from tests.requirements import requirement

PUBLIC = "93.184.215.14"

INWARD = """
http://127.0.0.1 http://127.1 http://127.0.1 http://2130706433 http://0x7f000001 http://0x7f.1 http://017700000001
http://0177.0.0.1 http://localhost http://LOCALHOST. http://a.localhost:8080/x http://0.0.0.0 http://0 http://[::]
http://[::1] http://[::ffff:127.0.0.1] http://[::ffff:7f00:1] http://[::ffff:0:10.0.0.1] http://[::127.0.0.1]
http://[64:ff9b::7f00:1] http://[64:ff9b:1::1] http://[2002:7f00:1::] http://[2002:a00:1::1] http://[2001:0:1::]
http://[3fff::1] http://[5f00::1] http://[fe80::5efe:10.0.0.1] http://[2606:4700::5efe:192.168.0.1] http://10.0.0.1
http://192.168.1.1:80/x http://172.16.0.1 http://172.31.255.255 http://010.0.0.1 http://169.254.169.254/latest http://100.64.0.1
http://224.0.0.1 http://240.0.0.1 http://255.255.255.255 http://192.0.2.1 http://198.18.0.1 http://[fd00::1]
http://[fc00::1] http://[fe80::1] http://[fe80::1%25eth0] http://[fec0::1] http://[ff02::1] http://[fd00:ec2::254]
http://168.63.129.16 http://100.100.100.200 http://metadata.google.internal http://metadata http://instance-data
http://\uff11\uff12\uff17.0.0.1 http://%31%32%37.0.0.1 http://127\u30020\u30020\u30021 http://\u24dbocalhost http://%6cocalhost
""".split()


@requirement("GUARD-04", "AC-15")
@pytest.mark.parametrize("url", INWARD)
def test_every_spelling_of_an_inner_address_is_refused(url: str) -> None:
    assert isinstance(decide(url), Deny)


@requirement("GUARD-04")
@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("ftp://example.com", "url-scheme"),
        ("gopher://x", "url-scheme"),
        ("file://host/etc/passwd", "url-scheme"),
        ("http://user:pass@example.com", "url-credentials"),
        ("http://user@example.com", "url-credentials"),
        ("http://example.com@127.0.0.1", "url-credentials"),
        ("file:///etc/passwd", "url-malformed"),
        ("http://", "url-malformed"),
        ("http:127.0.0.1", "url-malformed"),
        ("http:\\\\127.0.0.1", "url-malformed"),
        ("http://127.0.0.1\\@example.com", "url-malformed"),
        ("http://exa mple.com", "url-malformed"),
        ("http://example.com/\nHost: x", "url-malformed"),
        ("ht\ttp://example.com", "url-malformed"),
        ("http://a%2fb", "url-malformed"),
        ("http://a%00b", "url-malformed"),
        ("http://x:99999", "url-malformed"),
        ("http://x:y", "url-malformed"),
        ("javascript:alert(1)", "url-malformed"),
        ("", "url-malformed"),
        ("http://999.1.1.1", "url-numeric-host"),
        ("http://1.2.3.4.5", "url-numeric-host"),
        ("http://[::x]", "url-numeric-host"),
        ("http://example.com/" + "a" * MAX_URL, "url-too-long"),
    ],
)
def test_what_is_wrong_is_named_with_a_way_out(url: str, rule: str) -> None:
    verdict = decide(url)
    assert isinstance(verdict, Deny)
    assert verdict.rule == rule
    assert verdict.hint


@requirement("GUARD-04")
@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "https://8.8.8.8/x",
        "https://[2606:4700::1111]/",
        "//example.com/x",
        "https://example.com:8443/a?b=c@d#e",
        "https://example.com/a@b c",
        "https://xn--bcher-kva.example/",
        "https://bücher.example/",
        "HTTPS://EXAMPLE.COM./",
    ],
)
def test_public_places_pass(url: str) -> None:
    assert isinstance(decide(url, [PUBLIC, "2606:4700::1111"]), Allow)


@requirement("GUARD-04")
@pytest.mark.parametrize(
    "address", ["10.0.0.1", "::1", "::ffff:10.0.0.1", "169.254.169.254", "fe80::1%eth0", "nonsense", ""]
)
def test_one_bad_address_among_the_resolved_is_enough(address: str) -> None:
    verdict = decide("https://rebound.example/", [PUBLIC, address])
    assert isinstance(verdict, Deny)
    assert verdict.rule == "url-address"


@requirement("GUARD-04")
def test_a_network_can_be_allowed() -> None:
    policy = UrlPolicy(allow_networks=("10.0.0.0/8", "not a network"))
    assert isinstance(decide("http://intranet.example/", ["10.1.2.3"], policy), Allow)
    assert isinstance(decide("http://[::ffff:10.1.2.3]/", [], policy), Allow)
    assert isinstance(decide("http://intranet.example/", ["10.1.2.3", "192.168.0.1"], policy), Deny)


@requirement("GUARD-04")
def test_a_host_can_be_allowed_with_or_without_its_port() -> None:
    policy = UrlPolicy(allow_hosts=("localhost:3000", "*.corp.example"))
    assert isinstance(decide("http://localhost:3000/x", ["127.0.0.1"], policy), Allow)
    assert isinstance(decide("http://localhost:3001/x", ["127.0.0.1"], policy), Deny)
    assert isinstance(decide("http://wiki.corp.example", ["10.0.0.1"], policy), Allow)
    assert isinstance(decide("http://wiki.corp.example.evil.example", ["10.0.0.1"], policy), Deny)


@requirement("GUARD-04")
def test_a_denied_host_stays_denied() -> None:
    policy = UrlPolicy(allow_hosts=("*",), deny_hosts=("*.evil.example",))
    assert decide("https://x.evil.example", [PUBLIC], policy) != decide("https://good.example", [PUBLIC], policy)
    assert isinstance(decide("https://x.evil.example", [PUBLIC], policy), Deny)


@requirement("GUARD-04", "GUARD-13")
def test_the_hint_names_the_key_that_allows_it() -> None:
    verdict = decide("http://localhost:3000")
    assert isinstance(verdict, Deny)
    assert 'security.url_policy.allow_hosts = ["localhost:3000"]' in verdict.hint  # and none of its neighbours
    verdict = decide("http://localhost/")
    assert isinstance(verdict, Deny)
    assert 'security.url_policy.allow_hosts = ["localhost"]' in verdict.hint


@requirement("GUARD-13")
def test_explaining_lists_the_rungs_down_to_the_objection() -> None:
    told = explain("http://u@example.com")
    assert [name for name, _ in told] == ["url-malformed", "url-scheme", "url-credentials"]
    assert isinstance(told[-1][1], Deny)


@requirement("GUARD-04")
@pytest.mark.parametrize(
    ("host", "meant"),
    [
        ("0177.0.0.1", ("127.0.0.1", "177.0.0.1")),
        ("127.1", ("127.0.0.1",)),
        ("[::1]", ("::1",)),
        ("localhost.", ("127.0.0.1", "::1")),
        ("example.com", ()),
        ("1.2.3.4.5", ()),
        ("256.1.1.1", ()),
    ],
)
def test_all_readings_of_a_literal(host: str, meant: tuple[str, ...]) -> None:
    assert literal_addresses(host) == meant


@requirement("SHELL-19")
@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST", "127.0.0.1", "127.0.0.2", "127.1", "::1", "0:0:0:0:0:0:0:1"]
)
def test_however_loopback_is_written_it_is_this_machine_alone(host: str) -> None:
    assert is_loopback(host)


@requirement("SHELL-19")
@pytest.mark.parametrize(
    "host", ["", "*", "0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example", "a.localhost", "0177.0.0.1", "::ffff:127.0.0.1"]
)
def test_what_others_may_reach_is_no_loopback(host: str) -> None:
    assert not is_loopback(host)


@requirement("GUARD-04")
def test_the_host_is_the_one_a_fetch_would_go_to() -> None:
    assert host_of("https://EXAMPLE.com.:443/a") == "example.com"
    assert host_of("http://a@b.example/") == "b.example"
    assert host_of("http://[::1]:80/") == "::1"
    assert host_of("no url") == ""


@requirement("GUARD-13")
@given(st.one_of(st.text(), st.text().map("http://{}".format)), st.lists(st.text(max_size=20), max_size=3))
def test_any_text_gets_the_same_answer_twice(url: str, addresses: list[str]) -> None:
    assert decide(url, addresses) == decide(url, addresses)
    assert host_of(url) == host_of(url)


@requirement("GUARD-04")
@given(st.integers(0, 2**32 - 1))
def test_every_spelling_of_one_address_gets_one_verdict(number: int) -> None:
    dotted = ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))
    spellings = [dotted, str(number), hex(number), f"[::ffff:{dotted}]", f"[64:ff9b::{dotted}]"]
    assert len({type(decide(f"http://{host}/")) for host in spellings}) == 1


@requirement("GUARD-04")
@pytest.mark.parametrize(
    "text", ["http://" + "a." * 50_000, "http://" + "[" * 100_000, "http://" + "%31" * 2_000, "x" * 100_000]
)
def test_hostile_text_is_decided_quickly(text: str) -> None:
    started = time.process_time()
    decide(text)
    host_of(text)
    literal_addresses(text)
    assert time.process_time() - started < 1


@requirement("QUAL-16")
def test_reading_the_configuration_does_not_load_what_only_judging_needs() -> None:
    check = (
        "import sys, clawft.policy.url, clawft.policy.command, clawft.policy.arguments\n"
        "heavy = {'ipaddress', 'urllib.parse', 'shlex', 'clawft.policy.command.rules', 'clawft.policy.url_rules'}\n"
        "sys.exit(', '.join(sorted(heavy & sys.modules.keys())) or 0)"
    )
    ended = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 0, ended.stderr
