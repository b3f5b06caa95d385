"""The endpoint for editors: who gets in, who does not, and what becomes of windows that fall silent."""

import asyncio
import json
import os
import stat
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from clawft.builtin.ide.hub import IdeHub
from clawft.builtin.ide.mock import MockIde
from clawft.builtin.ide.vscode import endpoint as receptions
from clawft.builtin.ide.vscode.endpoint import EditorEndpoint
from clawft.builtin.ide.vscode.register import is_loopback
from clawft.errors import ConfigUnreadable, IdeFailed, IdeNotConnected, IdeTimeout, PermissionDenied
from tests.builtin.ide.fake_window import invitation, post, register, until, window
from tests.requirements import requirement


@pytest.fixture
def hub(workspace: Path) -> IdeHub:
    return IdeHub(workspace, lambda: MockIde(workspace, id="headless"))


@pytest.fixture
async def invited(hub: IdeHub, home: Path) -> AsyncGenerator[dict[str, Any]]:
    """What the gateway has left for editors."""
    endpoint = EditorEndpoint(hub, home)
    await endpoint.open()
    yield await invitation(home)
    await endpoint.close()
    assert list((home / "ide").iterdir()) == [], "who leaves takes the invitation along"


@requirement("IDE-17")
async def test_the_invitation_is_for_the_owner_only(invited: dict[str, Any], home: Path, workspace: Path) -> None:
    (file,) = (home / "ide").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((home / "ide").stat().st_mode) == 0o700
    assert (invited["protocol"], invited["pid"], invited["workspace"]) == (1, os.getpid(), str(workspace))
    assert len(invited["registrationToken"]) == 64


@requirement("IDE-17")
async def test_nothing_is_left_where_others_can_look(hub: IdeHub, home: Path) -> None:
    (home / "ide").mkdir()
    (home / "ide").chmod(0o755)
    endpoint = EditorEndpoint(hub, home)
    with pytest.raises(ConfigUnreadable, match="others may look"):
        await endpoint.open()
    await endpoint.close()
    assert list((home / "ide").iterdir()) == []


@requirement("IDE-17")
async def test_files_of_gateways_long_gone_are_removed(hub: IdeHub, home: Path) -> None:
    (home / "ide").mkdir(mode=0o700)
    old, recent = home / "ide" / "gateway-1-aa.json", home / "ide" / "gateway-2-bb.json"
    for file in (old, recent):
        file.write_text("{}")
    os.utime(old, (1, 1))
    endpoint = EditorEndpoint(hub, home)
    await endpoint.open()
    assert not old.exists()
    assert recent.exists(), "another gateway may live in it"
    await endpoint.close()


@requirement("IDE-17", "IDE-15")
async def test_a_window_registers_and_is_called(invited: dict[str, Any], hub: IdeHub, workspace: Path) -> None:
    async with window(workspace) as fake:
        status, text = await register(invited, fake)
        assert (status, json.loads(text)["heartbeatSeconds"]) == (200, 10)
        assert [method for method, _ in fake.asked] == ["ping"], "before it is listed"
        (ide,) = hub.connections
        fake.handlers["read"] = lambda params: {"path": params["path"], "version": 7, "text": "ü😀"}
        assert (await ide.read("/x")).text == "ü😀"
        assert int(fake.headers[-1][b"x-deadline-ms"]) > 1000
        assert fake.headers[-1][b"x-request-id"]
        status, _ = await post(invited, "/ide/goodbye", fake.secret, {"connectionId": fake.connection_id})
        assert (status, hub.connections) == (200, [])


ATTACKS: dict[str, tuple[int, dict[str, Any]]] = {
    "wrong token": (401, {"token": "0" * 64}),
    "no token": (401, {"token": ""}),
    "a web page": (403, {"Origin": "http://evil.example"}),
    "a web page on this machine": (403, {"Origin": "http://127.0.0.1:3000"}),
    "a name for 127.0.0.1": (403, {"Host": "rebound.example"}),
    "another port": (403, {"Host": "127.0.0.1:1"}),
    "a form": (415, {"Content-Type": "text/plain"}),
    "five megabytes": (413, {"body": b'"' + b"x" * 5_000_000 + b'"'}),
    "no JSON": (400, {"body": b"{"}),
    "no registration": (400, {"body": b"{}"}),
    "another protocol": (400, {"protocol": 2}),
    "a short secret": (400, {"secret": "short"}),
    "a strange id": (400, {"instanceId": "../../../x"}),
    "another machine": (400, {"callback": "http://192.0.2.1:80/"}),
    "a name": (400, {"callback": "http://localhost:80/"}),
    "another scheme": (400, {"callback": "file:///etc/passwd"}),
    "a name in front": (400, {"callback": "http://127.0.0.1:80@evil.example/"}),
    "nobody there": (424, {"callback": "http://127.0.0.1:9/"}),
}


@requirement("IDE-17")
@pytest.mark.parametrize("attack", ATTACKS)
async def test_who_is_refused_at_the_reception(
    invited: dict[str, Any], hub: IdeHub, workspace: Path, attack: str, caplog: pytest.LogCaptureFixture
) -> None:
    expected, how = ATTACKS[attack]
    async with window(workspace) as fake:
        headers = {name: value for name, value in how.items() if name[0].isupper()}
        changes = {name: value for name, value in how.items() if name[0].islower() and name not in ("token", "body")}
        body: Any = how.get("body", fake.registration(**changes))
        status, _ = await post(
            invited, "/ide/register", how.get("token", invited["registrationToken"]), body, **headers
        )
        assert status == expected
        assert hub.connections == []
        assert "refused" in caplog.text
        assert invited["registrationToken"] not in caplog.text
        if attack != "nobody there":
            assert fake.asked == [], "nobody was called for them"
        assert (await register(invited, fake))[0] == 200, "the endpoint still works"


@requirement("IDE-17")
@pytest.mark.parametrize("page", ["heartbeat", "goodbye", "answer"])
async def test_another_windows_secret_is_no_secret(
    invited: dict[str, Any], hub: IdeHub, workspace: Path, page: str
) -> None:
    async with window(workspace, id="first-window") as one, window(workspace, id="second-window") as two:
        await register(invited, one)
        await register(invited, two)
        body: dict[str, Any] = {"connectionId": one.connection_id, "id": 1, "answer": {}}
        for token in (two.secret, invited["registrationToken"], "x"):
            assert (await post(invited, f"/ide/{page}", token, body))[0] == 401
        assert len(hub.connections) == 2


@requirement("IDE-17")
async def test_other_pages_and_methods_are_not_there(invited: dict[str, Any]) -> None:
    for method, page in (("GET", "/ide/register"), ("POST", "/"), ("POST", "/mcp"), ("DELETE", "/ide/register")):
        assert (await post(invited, page, invited["registrationToken"], {}, method=method))[0] == 404
    assert (await post(invited, "/ide/next?connection=x", "y", {}, method="GET"))[0] == 401


@requirement("IDE-17")
@pytest.mark.parametrize(
    ("url", "fine"),
    [
        ("http://127.0.0.1:80/", True),
        ("http://[::1]:80/", True),
        ("http://127.0.0.1/", False),
        ("https://127.0.0.1:80/", False),
        ("http://127.0.0.1.evil.example:80/", False),
        ("http://user@127.0.0.1:80/", False),
        ("http://0x7f000001:80/", False),
        ("http://127.0.0.1:99999/", False),
        ("http://127.0.0.1:80/?x", False),
    ],
)
def test_only_numbers_of_this_machine_are_called(url: str, fine: bool) -> None:
    assert is_loopback(url) is fine


@requirement("IDE-13", "IDE-05")
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("not_ready", IdeNotConnected),
        ("outside_workspace", PermissionDenied),
        ("stale", IdeFailed),
        ("bad_range", IdeFailed),
        ("untrusted", IdeFailed),
        ("whatever", IdeFailed),
    ],
)
async def test_what_a_window_refuses_is_one_of_our_errors(
    invited: dict[str, Any], hub: IdeHub, workspace: Path, code: str, kind: type[Exception]
) -> None:
    async with window(workspace) as fake:
        await register(invited, fake)
        fake.handlers["read"] = lambda params: {"error": {"code": code, "message": "no"}}
        with pytest.raises(kind):
            await hub.route().read("/x")


@requirement("IDE-14", "IDE-17")
async def test_who_does_not_wait_any_longer_tells_the_window(
    invited: dict[str, Any], hub: IdeHub, workspace: Path
) -> None:
    async with window(workspace) as fake:
        await register(invited, fake)
        ide = hub.route()
        begun, never = asyncio.Event(), asyncio.get_running_loop().create_future()

        async def hang(params: dict[str, Any]) -> Any:
            begun.set()
            return await never

        fake.handlers["show_diff"] = hang
        asking = asyncio.create_task(ide.show_diff("/x", "new"))
        await begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await until(lambda: bool(fake.cancelled))
        never.set_result({"result": {}})


@pytest.mark.slow
@requirement("IDE-15")
async def test_a_window_that_falls_silent_is_asked_and_dropped(
    hub: IdeHub, home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receptions, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(receptions, "HEARTBEAT_SECONDS", 0.5)
    endpoint = EditorEndpoint(hub, home)
    await endpoint.open()
    invited = await invitation(home)
    async with window(workspace) as fake:
        await register(invited, fake)
        await until(lambda: not hub.connections)
        assert "ping" in [method for method, _ in fake.asked[1:]], "it was asked first"
        assert (await post(invited, "/ide/heartbeat", fake.secret, {"connectionId": fake.connection_id}))[0] == 401
        assert (await register(invited, fake))[0] == 200
    await endpoint.close()


@requirement("IDE-15")
async def test_a_window_whose_process_lives_on_without_it_is_not_ready(
    invited: dict[str, Any], hub: IdeHub, workspace: Path
) -> None:
    async with window(workspace, id="dead-window1") as dead, window(workspace, id="live-window1") as live:
        await register(invited, dead)
        dead.gone = True
        with pytest.raises(IdeNotConnected, match="not_ready"):
            await hub.route().get_diagnostics(None)
        with pytest.raises(IdeNotConnected, match="not_ready"):
            await hub.route().get_diagnostics(None)
        await register(invited, live)
        assert hub.route().window.id == "vscode-live-window1", "one that answers is preferred"
        dead.gone = False
        beat = {"connectionId": dead.connection_id, "window": True, "focused": True}
        assert (await post(invited, "/ide/heartbeat", dead.secret, beat))[0] == 200
        assert hub.route().window.id == "vscode-dead-window1", "it is back, and focused"


@requirement("IDE-15")
async def test_what_the_window_tells_in_passing(invited: dict[str, Any], hub: IdeHub, workspace: Path) -> None:
    happened: list[str] = []
    hub.watch(happened.append)
    async with window(workspace) as fake:
        await register(invited, fake)
        beat = {
            "connectionId": fake.connection_id,
            "events": ["selection", "diagnostics", "nonsense"],
            "dirty": [str(workspace / "a.py")],
        }
        await post(invited, "/ide/heartbeat", fake.secret, beat)
        assert happened == ["windows", "selection", "diagnostics"]
        assert hub.unsaved() == ["a.py"]
        await post(invited, "/ide/heartbeat", fake.secret, {**beat, "dirty": []})
        assert hub.unsaved() == []


@requirement("IDE-17", "IDE-18")
async def test_a_window_that_cannot_be_called_fetches_its_calls(
    invited: dict[str, Any], hub: IdeHub, workspace: Path
) -> None:
    async with window(workspace) as fake:
        assert (await register(invited, fake, callback=None))[0] == 200
        page = f"/ide/next?connection={fake.connection_id}"
        asking = asyncio.create_task(hub.route().read("/x"))
        _, text = await post(invited, page, fake.secret, {}, method="GET")
        (call,) = json.loads(text)["calls"]
        assert (call["method"], call["params"]) == ("read", {"path": "/x"})
        answer = {"result": {"path": "/x", "version": 3, "text": "fetched"}}
        body = {"connectionId": fake.connection_id, "id": call["id"], "answer": answer}
        assert (await post(invited, "/ide/answer", fake.secret, body))[0] == 200
        assert (await asking).text == "fetched"

        waiting = asyncio.create_task(post(invited, page, fake.secret, {}, method="GET"))
        given_up = asyncio.create_task(hub.route().read("/y"))
        _, text = await waiting
        (call,) = json.loads(text)["calls"]
        given_up.cancel()
        _, text = await post(invited, page, fake.secret, {}, method="GET")
        assert json.loads(text)["calls"] == [{"cancel": call["id"]}]


@requirement("IDE-13", "IDE-17")
async def test_an_answer_that_is_none_ends_the_call_at_once(
    invited: dict[str, Any], hub: IdeHub, workspace: Path
) -> None:
    async with window(workspace) as fake:
        assert (await register(invited, fake, callback=None))[0] == 200
        page = f"/ide/next?connection={fake.connection_id}"
        asking = asyncio.create_task(hub.route().read("/x"))
        _, text = await post(invited, page, fake.secret, {}, method="GET")
        (call,) = json.loads(text)["calls"]
        body = {"connectionId": fake.connection_id, "id": call["id"], "answer": {"error": 17}}
        assert (await post(invited, "/ide/answer", fake.secret, body))[0] == 200
        with pytest.raises(IdeFailed, match="something else than an answer"):
            await asyncio.wait_for(asking, 2)  # its own limit is longer


@pytest.mark.slow
@requirement("IDE-14")
async def test_a_window_that_hangs_has_a_limit(
    invited: dict[str, Any], hub: IdeHub, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clawft.builtin.ide import remote

    monkeypatch.setattr(remote, "FIRST_SECONDS", 0.1)
    monkeypatch.setattr(remote, "OPERATION_SECONDS", 0.1)
    async with window(workspace) as fake:
        fake.handlers["read"] = lambda params: asyncio.sleep(5)
        await register(invited, fake)
        with pytest.raises(IdeTimeout):
            await hub.route().read("/x")


@requirement("IDE-17")
async def test_an_invitation_taken_for_stale_is_written_again(
    hub: IdeHub, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receptions, "WATCH_SECONDS", 0.05)
    endpoint = EditorEndpoint(hub, home)
    await endpoint.open()
    (file,) = (home / "ide").iterdir()
    file.unlink()
    await invitation(home)
    await endpoint.close()
