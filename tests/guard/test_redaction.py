"""Keys and tokens taken out of results: only where it is wanted, and before anything is kept."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from clawft.app import App
from clawft.config.secrecy import secrets_in
from clawft.config.settings import Settings
from clawft.errors import JsonRpcFailure
from clawft.guard.redaction import Redaction
from clawft.guard.result import ResultGuard
from clawft.model import Call, Origin, Reply
from clawft.store.concealed_secrets import conceal, keep_concealed, keep_concealed_in
from clawft.store.cut_results import CutResults
from clawft.store.secrets import resolve
from tests.guard.support import TOOL, answers, call, way
from tests.requirements import requirement

KEY = "AKIAIOSFODNN7EXAMPLE"


@requirement("CONF-14")
async def test_a_result_loses_what_has_the_shape_of_a_key_and_nothing_else() -> None:
    guard = Redaction(lambda server: True)
    dirty = await guard(call(), answers(Reply.text(f"it is {KEY}, ok")))
    assert json.loads(dirty.result)["content"][0]["text"] == "it is [redacted: AWS key], ok"
    clean = Reply.text("nothing here")
    assert await guard(call(), answers(clean)) is clean


@requirement("CONF-14")
async def test_an_error_of_a_server_loses_it_too() -> None:
    async def refuse(_: Call) -> Reply:
        raise JsonRpcFailure(7, f"it is {KEY}", {"seen": [KEY, 1]})

    with pytest.raises(JsonRpcFailure) as told:
        await Redaction(lambda server: True)(call(), refuse)
    hidden = "[redacted: AWS key]"
    assert (told.value.error_code, told.value.message) == (7, f"it is {hidden}")
    assert told.value.error_data == {"seen": [hidden, 1]}


@requirement("CONF-14")
async def test_what_we_were_given_is_taken_out_whatever_its_shape() -> None:
    keep_concealed('a "plain" word\n')
    guard = Redaction(lambda server: True)
    reply = await guard(call(), answers(Reply.text('got a "plain" word\n there')))
    assert json.loads(reply.result)["content"][0]["text"] == "got … there"
    assert conceal('got a "plain" word\n there') == "got … there"


ODD = "geh/eim+schlüssel-秘密-🔑"
SPELLINGS = {
    "escaped": json.dumps(ODD)[1:-1],
    "slashes": ODD.replace("/", "\\/"),
    "HEX": ODD.encode().hex().upper(),
    "page": "<b>&quot;" + ODD + "&quot;",
    "behind a user": base64.b64encode(f"user:{ODD}".encode()).decode(),
    "behind another": base64.b64encode(f"me:{ODD}@host".encode()).decode(),
    "for addresses": base64.urlsafe_b64encode(f"u:{ODD}?".encode()).decode(),
}


@requirement("CONF-14")
@pytest.mark.parametrize("how", SPELLINGS)
async def test_what_we_were_given_is_taken_out_however_it_is_spelled(how: str) -> None:
    keep_concealed(ODD)
    said = SPELLINGS[how]
    assert "…" in conceal(f"it was {said} then")
    assert len(conceal(said)) <= 20
    reply = await Redaction(lambda server: True)(call(), answers(Reply.text(said)))
    assert "…" in json.loads(reply.result)["content"][0]["text"]


@requirement("CONF-14")
@pytest.mark.parametrize("ascii_only", [True, False])
async def test_what_we_were_given_is_taken_out_of_json_that_spells_letters_differently(ascii_only: bool) -> None:
    keep_concealed(ODD)
    whole = {"content": [{"type": "text", "text": f"it is {ODD}, ok"}], "structuredContent": {"key": ODD, "n": 1.10}}
    for spelled in (
        json.dumps(whole, ensure_ascii=ascii_only),
        json.dumps(whole, ensure_ascii=ascii_only).replace("/", "\\/"),
    ):
        reply = await Redaction(lambda server: True)(call(), answers(Reply(spelled.encode())))
        told = json.loads(reply.result)
        assert told["content"][0]["text"] == "it is …, ok"
        assert told["structuredContent"] == {"key": "…", "n": 1.1}


@requirement("CONF-14")
async def test_half_a_character_in_a_secret_breaks_no_result() -> None:
    keep_concealed("half-\udc80-a-character")
    reply = Reply.text("something else")
    assert await Redaction(lambda server: True)(call(), answers(reply)) is reply


@requirement("CONF-14")
async def test_what_a_command_line_holds_is_taken_out_of_the_very_next_thing_said() -> None:
    keep_concealed_in(("--password", "hunter-of-two", "--port", "80", ""), secrets_in)
    guard = Redaction(lambda server: True)
    reply = await guard(call(), answers(Reply.text("logged in with hunter-of-two at 80")))
    assert json.loads(reply.result)["content"][0]["text"] == "logged in with … at 80"
    keep_concealed_in(("--api-key=word-of-nine", ""), secrets_in)
    assert conceal("hunter-of-two, word-of-nine") == "…, …"


@requirement("CONF-14")
async def test_what_is_kept_for_reading_on_was_looked_through_too() -> None:
    cut_results = CutResults()
    guards = [ResultGuard(cut_results, 50), Redaction(lambda server: True)]
    run = way(guards, lambda _: answers(Reply.text("x" * 100 + f" {KEY} " + "y" * 100)))
    told = json.loads((await run(call())).result)["content"][0]["text"]
    handle = json.loads(told.partition("weft__read_result with ")[2])["handle"]
    part = cut_results.read(handle, "local", 0, 1000)
    assert part is not None
    assert KEY not in part.text
    assert "[redacted: AWS key]" in part.text


@requirement("CONF-14")
@pytest.mark.parametrize(
    ("everywhere", "own", "wanted"),
    [(False, None, False), (True, None, True), (False, True, True), (True, False, False)],
)
def test_a_server_has_the_last_word_about_its_results(
    home: Path, workspace: Path, everywhere: bool, own: bool | None, wanted: bool
) -> None:
    file = home / "mcp_servers" / "s.toml"
    file.parent.mkdir()
    said = "" if own is None else f"redact = {str(own).lower()}\n"
    file.write_text(f'url = "http://127.0.0.1:1/"\n{said}')
    app = App(Settings(home, workspace, redact=everywhere))
    (guard,) = [each for each in app.gateway.guards if isinstance(each, Redaction)]
    assert guard.applies(TOOL, Origin("mcp:s", "s")) is wanted
    assert guard.applies(TOOL, Origin("file")) is everywhere


# ── references inside longer values ──────────────────────────────────────────────────────────────────────────────────


@requirement("CONF-14")
def test_references_are_resolved_inside_a_longer_value(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORD", "s3cret-word")
    file = tmp_path / "kept"
    file.write_text("from a file\n")
    assert resolve("Bearer ${secret://env/WORD}") == "Bearer s3cret-word"
    assert resolve(f"${{secret://env/WORD}}/${{secret://file{file}}}") == "s3cret-word/from a file"
    assert resolve("${secret://env/NO_SUCH_WORD:-eu}") == "eu"
    assert resolve("${OTHER} $WORD {secret}") == "${OTHER} $WORD {secret}"
    assert conceal("Authorization: s3cret-word!") == "Authorization: …!"
