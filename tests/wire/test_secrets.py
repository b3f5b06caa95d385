"""Secrets by shape and by name: found where they are, and nowhere else, in linear time."""

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.wire import secrets
from clawft.wire.secrets import (
    MASK,
    MAX_NAMED,
    SHAPES,
    SIGNS,
    looks_secret,
    mask_members,
    mask_url,
    redact,
    redact_text,
)
from tests.growth import grows_linearly
from tests.requirements import requirement

KEY = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"
KNOWN = {
    "AWS key": "AKIAIOSFODNN7EXAMPLE",
    "AWS secret": "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "GitHub token": "ghp_" + "a1B2" * 9,
    "GitHub token, fine": "github_pat_" + "11ABCDEFG0" * 6,
    "GitLab token": "glpat-" + "x1Y2z" * 4,
    "Slack token": "xoxb-1234567890-abcdefghijKL",
    "Slack webhook": "https://hooks.slack.com/services/T0000/B0000/XXXXXXXXXXXX",
    "Google key": "AIza" + "Sy1_-" * 7,
    "API key, Anthropic": "sk-ant-api03-" + "Zz9-_" * 10,
    "API key, OpenAI": "sk-proj-" + "Ab1" * 16,
    "Stripe key": "sk_live_" + "1a2B" * 6,
    "package token": "npm_" + "aB1c" * 9,
    "Hugging Face token": "hf_" + "abcdeFGHIJ" * 3 + "klmn",
    "SendGrid key": "SG." + "a1_-" * 5 + "." + "b2_-" * 10,
    "DigitalOcean token": "dop_v1_" + "0a" * 32,
    "JSON web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r",
    "private key": KEY,
    "credentials": "Authorization: Bearer abcdef0123456789",
    "credentials, basic": "Basic dXNlcjpodW50ZXIyMjIy",
    "password": "postgres://app:hunter2@db.example/x",
}


@requirement("CONF-14")
@pytest.mark.parametrize("name", KNOWN)
def test_a_known_shape_is_taken_out_of_text_and_of_json(name: str) -> None:
    secret, kind = KNOWN[name], name.partition(",")[0]
    telling = secret.partition("hunter2")[1] or secret.split()[-1]
    shown = redact_text(f"see {secret}, and more")
    assert f"[redacted: {kind}]" in shown
    assert shown.startswith("see ")
    assert shown.endswith(" and more")
    raw = json.dumps({"content": [{"type": "text", "text": f"a {secret} b", "n": 1}]}).encode()
    text = json.loads(redact(raw))["content"][0]["text"]
    assert (text[:2], text[-2:], telling in text) == ("a ", " b", False)


@requirement("CONF-14")
@pytest.mark.parametrize(
    "text",
    [
        "the bearer of this announcement has a basic understanding of scikit-learn, sk-learn and task-1",
        "https://example.com:8080/path?x=1 and mail@example.com",
        "a commit 3f786850e387550fdab836ed7e6dc881de23001b, a digest sha256:" + "ab" * 32,
        "AKIA is four letters; eyJ begins a token; -----BEGIN CERTIFICATE----- is none",
        "interactive_logins-" + "a" * 40,
        "naïve “text” ✓ \ud83d",
    ],
)
def test_ordinary_text_stays_the_very_same(text: str) -> None:
    assert redact_text(text) is text


@requirement("CONF-14")
@pytest.mark.parametrize(
    "piece",
    ["-----BEGIN PRIVATE KEY-----", "bearer ", "://a:", "eyJaaaaaaaa.eyJ", "sk-", "aws_secret_access_key = ", "ghp_a",
     " sk-aaaaaaaaaa", " xoxb-aaaaaaaaa",
     "://", "bearer " + "a" * 60, "eyJ" + "a" * 4000 + ".", "SG." + "a" * 60 + ".", "://a:b@", "npm_" + "a" * 36,
     "hooks.slack.com/services/"],
)  # fmt: skip
def test_no_text_makes_the_search_slow(piece: str) -> None:
    def look_through(size: int) -> None:
        redact((piece * (size // len(piece) + 1)).encode()[:size])

    assert grows_linearly(look_through, 50_000)


@requirement("CONF-14")
@pytest.mark.parametrize("secret", ["://a:b@", "AKIAIOSFODNN7EXAMPLE", "sk-" + "a" * 20 + " "])
def test_however_many_there_are_all_go_and_the_text_hardly_grows(secret: str) -> None:
    text = secret * (3 * MAX_NAMED)
    without = redact(text.encode())
    assert secret.strip().encode() not in without
    assert without.count(b"[redacted: ") == MAX_NAMED
    assert len(without) < len(text) + 30 * MAX_NAMED


@requirement("CONF-14")
@given(st.data())
def test_a_long_text_is_looked_through_in_windows_and_loses_the_same(data: st.DataObject) -> None:
    raw = "".join(data.draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=40))).encode()
    whole = redact(raw)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(secrets, "WINDOW", 500)
        patched.setattr(secrets, "_AHEAD", 400)
        assert redact(raw) == whole


@requirement("CONF-14")
@pytest.mark.parametrize("letters", ["QUJD", "eyJ", "J", "eyJ."])
def test_a_picture_is_looked_through_as_fast_as_a_text(letters: str) -> None:
    picture, text = (part.encode() * (400_000 // len(part)) for part in (letters, "nothing "))
    assert min(_seconds(picture) for _ in range(3)) < 40 * max(_seconds(text) for _ in range(3))


def _seconds(raw: bytes) -> float:
    began = time.process_time()
    assert redact(raw) is raw
    return time.process_time() - began


PIECES = [
    *KNOWN.values(), "sk-", "ghp_", "Bearer ", "basic ", "://", "a:b@", "eyJ", ".eyJ", "-", "_", " ", "\n", "xoxb-",
    "aws_secret_access_key=", "A" * 16, "AKIA", "glpat-", "SG.", "npm_", "x" * 20, "1" * 12, "hf_", "github_pat_",
    "whsec_", "sk_live_", '"', "\\", "AIza", "ya29.", "secretAccessKey: ",
]  # fmt: skip


@requirement("CONF-14")
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6))
def test_whatever_stands_beside_it_a_secret_is_found(pieces: list[str]) -> None:
    left = redact("".join(pieces).encode())
    assert [name for name, pattern in SHAPES if re.search(pattern, left)] == []


@requirement("CONF-14")
def test_a_long_row_of_secrets_hides_none() -> None:
    row = KNOWN["package token"] * 50 + KNOWN["AWS key"]
    assert KNOWN["AWS key"].encode() not in redact(row.encode())


@requirement("CONF-14")
def test_every_shape_has_a_sign() -> None:
    assert {name for sign in SIGNS for _, name in sign.shapes} == {name for name, _ in SHAPES}


@given(st.text())
def test_whatever_is_left_reads_as_json_when_it_was_json(text: str) -> None:
    raw = json.dumps({"text": text}).encode()
    assert isinstance(json.loads(redact(raw))["text"], str)


# ── addresses and members ────────────────────────────────────────────────────────────────────────────────────────────


@requirement("CONF-14")
@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.com/mcp", "https://example.com/mcp"),
        ("https://u:p@example.com:1/mcp", "https://example.com:1/mcp"),
        ("https://example.com/mcp?key=abc&b", f"https://example.com/mcp?key={MASK}&{MASK}"),
        ("https://example.com/#token=abc", "https://example.com/"),
        ("http://[broken", MASK),
        ("u:p@example.com:1/mcp", "u:example.com:1/mcp"),
        ("example.com/a@b", "b"),
        ("stdio:///opt/a@b/bin", "stdio:///opt/a@b/bin"),
    ],
)
def test_an_address_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert mask_url(url) == shown


@requirement("CONF-14", "GUARD-10")
def test_members_that_sound_like_secrets_are_masked_at_any_depth() -> None:
    raw = b'{"user":"ada","password":"hunter2","deep":[{"api_key":"abcdefgh"}],"note":"a sk-aaaaaaaaaaaaaaaaaaaaaa"}'
    assert json.loads(mask_members(raw)) == {
        "user": "ada",
        "password": MASK,
        "deep": [{"api_key": MASK}],
        "note": "a [redacted: API key]",
    }
    address = '{"url":"https://h.example/a?page=2&access_token=abcdefgh1#id_token=abcdefgh2"}'
    assert json.loads(mask_members(address.encode())) == {
        "url": f"https://h.example/a?page=2&access_token={MASK}#id_token={MASK}"
    }
    plain = b'{"a": 1.50, "b": "c", "d": "https://h.example/a?page=2"}'
    assert mask_members(plain) is plain
    assert mask_members(b"[" * 100_000) == b"[" * 100_000


@pytest.mark.parametrize(("name", "value"), [("TOKEN", "${secret://env/X}"), ("PATH_TO_KEY", "/etc/key"), ("x", "")])
def test_references_and_paths_are_no_secrets(name: str, value: str) -> None:
    assert not looks_secret(name, value)
