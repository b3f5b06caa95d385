"""Further attacks without the defence, once each: what our tests look for does happen where nobody looks."""

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import aiohttp
import jwt
import pytest
from aiohttp import web
from mcp import types

from clawft.auth.vault import Vault, kept_secret
from clawft.builtin import confine
from clawft.store.secrets import resolve
from tests.growth import grows_linearly
from tests.requirements import requirement
from tests.security.siege import Siege
from tests.security.test_attacks_are_real import naive
from tests.security.test_greedy import NAMES as GREEDY
from tests.security.test_greedy import greedy, until_all_listed
from tests.security.test_hostile_servers import UNSEEN
from tests.security.test_hostile_sites import with_vice
from tests.security.test_rogue_servers import rogue
from tests.security.test_sent_ahead import deaf, push
from tests.security.test_together import HORDE, listed, poke_all
from tests.servers.certificates import Authority, shown
from tests.servers.issuer import encoded
from tests.servers.pipe import call, cancelled, mcp_server
from tests.servers.raw_http import ask, modern, modern_call, open_session
from tests.servers.raw_site import Asked as RawAsked
from tests.servers.raw_site import raw_site
from tests.servers.taskmaster import STOLEN
from tests.servers.web import Asked, serve
from tests.servers.weft import PROBE, ROOT, RSS_LIMIT, gateway, peak_memory

pytestmark = pytest.mark.slow

PATIENCE_S = 90.0


@requirement("GUARD-10")
def test_poisoned_words_arrive() -> None:
    with naive("poisoned") as client:
        client.open()
        assert "Ignore all previous instructions" in str(client.ask("tools/list"))


@requirement("GUARD-05")
def test_a_definition_changes_unseen() -> None:
    with naive("drifting") as client:
        client.open()
        assert client.ask("tools/list") != client.ask("tools/list")


@requirement("GUARD-10")
def test_controls_in_a_result_arrive() -> None:
    with naive("hidden") as client:
        client.open()
        said = client.ask("tools/call", {"name": "poke", "arguments": {}})["result"]["content"][0]["text"]
        assert UNSEEN.search(said)


@requirement("QUAL-03")
def test_a_server_asks_what_nobody_allowed() -> None:
    with naive("asks", 6) as client:
        client.open()
        asked = [client.answer()["method"] for _ in range(6)]
        assert {"sampling/createMessage", "elicitation/create"} <= set(asked)


@requirement("OAUTH-21")
async def test_a_proxy_that_passes_headers_on_gives_the_token_away() -> None:
    async def poked(asked: Asked) -> web.StreamResponse:
        return asked.result({})

    async with serve(with_vice(poked)) as site:

        async def pass_on(asked: Asked) -> web.StreamResponse:
            async with aiohttp.ClientSession() as client, client.post(site.url, json={}, headers=asked.headers):
                return asked.result({})

        async with serve(pass_on) as proxy, aiohttp.ClientSession() as client:
            await client.post(proxy.url, data=b"", headers={"X-Token": "canary"})
    assert site.asked[0].headers["X-Token"] == "canary"


@requirement("GUARD-04")
async def test_a_client_that_follows_reaches_what_is_inside() -> None:
    async def inside(asked: Asked) -> web.StreamResponse:
        return web.Response(text="inside")

    async with serve(inside) as secret:

        async def away(asked: Asked) -> web.StreamResponse:
            return web.Response(status=302, headers={"Location": secret.url})

        async with serve(away) as site, aiohttp.ClientSession() as client, client.get(site.url) as response:
            assert await response.text() == "inside"


@requirement("SHELL-19")
async def test_a_server_that_checks_nothing_answers_any_page() -> None:
    async def anybody(asked: Asked) -> web.StreamResponse:
        return asked.result({})

    async with serve(anybody) as site, aiohttp.ClientSession() as client:
        foreign = {"Host": "attacker.example", "Origin": "http://attacker.example"}
        async with client.post(site.url, json={}, headers=foreign) as response:
            assert response.status == 200


@requirement("SHELL-19")
async def test_where_all_callers_are_one_a_session_is_anybodys(tmp_path: Path) -> None:
    with gateway(tmp_path, "--no-auth") as served:
        session = await open_session(served.port)
        assert (await ask(served.port, session.delete())).status == 204  # from another connection
        assert (await ask(served.port, modern(served.port, 1, "tools/list"))).status == 200  # without a token


@requirement("GUARD-03")
def test_a_shell_runs_what_an_address_says(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    subprocess.run(f"true 'http://x/' http://x/$(touch {mark})", shell=True, check=True)
    assert mark.exists()


@requirement("GUARD-12")
def test_a_word_of_a_caller_is_an_option_to_git(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    subprocess.run(
        ["git", "-C", str(tmp_path), "diff", "--no-index", f"--output={mark}", "/dev/null", __file__], check=False
    )
    assert mark.exists()


@requirement("PROV-02")
def test_a_path_that_is_only_joined_leads_outside(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("canary")
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "link").symlink_to(tmp_path / "secret")
    for path in ("../secret", "link"):
        assert (tmp_path / "workspace" / path).read_text() == "canary"


@requirement("POOL-21")
def test_a_child_sees_the_whole_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET_OF_OURS", "canary")
    code = "import os; print(os.environ['A_SECRET_OF_OURS'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"canary\n"


@requirement("GUARD-11")
def test_a_line_end_in_a_name_is_a_line_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(f"called {'x' + os.linesep + 'called nothing'}\n")
    assert log.read_text().splitlines()[1] == "called nothing"


@requirement("QUAL-03", "QUAL-12")
def test_a_flood_without_end_is_one() -> None:
    """More than a gateway could hear, as fast as anybody reads."""
    entry = rogue("storm")
    environment = {**os.environ, **entry["env"]}
    argv = [entry["command"], *entry["args"]]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the process has no pipes")
        process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        process.stdin.flush()
        seen = sum(b"list_changed" in process.stdout.readline() for _ in range(200_000))
        process.kill()
    assert seen == 200_000


@requirement("QUAL-12")
async def test_a_crowd_takes_more_memory_than_there_is(tmp_path: Path) -> None:
    """The gateway without its one bound on all large requests together."""
    lifted = tmp_path / "lifted"
    lifted.mkdir()
    (lifted / "sitecustomize.py").write_text(
        "import clawft.link.share.byte_limits\nclawft.link.share.byte_limits.REQUESTS.limit = 10**12\n"
    )
    with gateway(tmp_path, "--no-auth", package=Path(os.pathsep.join([str(lifted), str(PROBE)]))) as served:
        large = modern_call(served.port, 1, "probe__wait", {"token": "x" * 4_000_000, "seconds": 1})
        answers = await asyncio.gather(*(ask(served.port, large) for _ in range(40)))
        assert {answer.status for answer in answers} == {200}
        assert peak_memory(served.pid) > RSS_LIMIT


@requirement("QUAL-12")
async def test_answers_that_nobody_takes_are_held(tmp_path: Path) -> None:
    """The gateway without a mark above which it waits until its clients read."""
    lifted = tmp_path / "lifted"
    lifted.mkdir()
    (lifted / "sitecustomize.py").write_text(
        "import clawft.link.http_in.protocol\nclawft.link.http_in.protocol.WRITE_HIGH = 2**30\n"
    )
    with gateway(tmp_path, "--no-auth", package=Path(os.pathsep.join([str(lifted), str(PROBE)]))) as served:
        asked = modern_call(served.port, 1, "probe__echo", {"token": "x" * 15_000}) * 1_000
        with ExitStack() as stack:
            pushing = asyncio.gather(*(push(deaf(served.port, stack), asked, PATIENCE_S) for _ in range(20)))
            async with asyncio.timeout(PATIENCE_S):
                while peak_memory(served.pid) <= RSS_LIMIT:  # noqa: ASYNC110 - nobody tells that it has grown
                    await asyncio.sleep(0.05)
            pushing.cancel()


@requirement("QUAL-12")
async def test_lists_of_ten_servers_take_more_memory_than_there_is(tmp_path: Path) -> None:
    """The gateway without its one bound on what all servers offer together."""
    bound = "from clawft.upstream.offer.room import Room\nRoom.free = lambda self, mine: 10**12\n"
    package = lifting(tmp_path, bound)
    told = json.dumps({"mcpServers": {name: greedy("large") for name in GREEDY}})
    async with mcp_server(tmp_path, "--mcp-config", told, package=package) as pipe:
        await pipe.open()
        await until_all_listed(Siege(pipe), *GREEDY)
        assert pipe.peak() > RSS_LIMIT


@requirement("QUAL-12")
async def test_ten_messages_that_are_each_allowed_are_too_much_together(tmp_path: Path) -> None:
    """The gateway without turns for the large messages of all servers."""
    package = lifting(
        tmp_path, "from clawft.link.share.turns import Turns\nTurns.may_go_on = lambda self, turn: True\n"
    )
    told = json.dumps({"mcpServers": HORDE})
    async with mcp_server(tmp_path, "--mcp-config", told, package=package) as pipe:
        await pipe.open()
        besieged = Siege(pipe)
        await listed(besieged)
        await poke_all(besieged, "drip")
        async with asyncio.timeout(PATIENCE_S):
            while pipe.peak() < RSS_LIMIT:
                await pipe.ask("ping")


@requirement("QUAL-12")
async def test_what_waits_for_ten_that_do_not_read_is_more_than_there_is(tmp_path: Path) -> None:
    """The gateway without one bound on what all of them have not taken."""
    package = lifting(
        tmp_path, "from clawft.link.share.unread_output import UnreadOutput\nUnreadOutput.enforce = lambda self: None\n"
    )
    async with mcp_server(tmp_path, "--mcp-config", json.dumps({"mcpServers": HORDE}), package=package) as pipe:
        await pipe.open()
        besieged = Siege(pipe)
        await listed(besieged)
        await poke_all(besieged, "deaf")
        async with asyncio.timeout(PATIENCE_S):
            while pipe.peak() < RSS_LIMIT:
                for name in HORDE:
                    await pipe.send(call(name, f"{name}__poke", {"text": "x" * 200_000}))
                    await pipe.ask("ping")
                    await pipe.send(cancelled(name))


def lifting(folder: Path, bound: str) -> Path:
    """The packages of a gateway that does this at its start."""
    lifted = folder / "lifted"
    lifted.mkdir()
    (lifted / "sitecustomize.py").write_text(bound)
    return Path(os.pathsep.join([str(lifted), str(PROBE)]))


@requirement("SHELL-19")
def test_two_readers_see_two_requests_in_the_same_bytes() -> None:
    """One goes by the length, one by the chunks: what is a body to the first is a request to the second."""
    head, body = (
        b"POST / HTTP/1.1\r\nContent-Length: 24\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"0\r\n\r\nGET /admin HTTP/1.1",
    )
    sent = head + body
    by_length = sent[len(head) + 24 :]
    by_chunks = sent[len(head) + len(b"0\r\n\r\n") :]
    assert (by_length, by_chunks) == (b"", b"GET /admin HTTP/1.1")


@requirement("QUAL-12")
def test_parts_take_many_times_their_bytes() -> None:
    message = b"[" + b"[]," * 100_000 + b"[]]"
    parts: list[Any] = json.loads(message)
    assert sum(map(sys.getsizeof, parts)) > 15 * len(message)


@requirement("SESS-10")
def test_a_member_of_a_result_passes_for_the_gateways_own() -> None:
    """A gateway that only adds what is missing, and one that looks for the word as it is usually spelled."""
    said = b'{"result\\u0054ype":"input_required"}'
    assert {"resultType": "complete", **json.loads(said)}["resultType"] == "input_required"
    assert b'"resultType"' not in said


@requirement("SESS-09")
def test_one_definition_costs_a_strict_client_the_whole_list() -> None:
    crooked = {"name": "x", "inputSchema": "{}"}
    good = {"name": "y", "inputSchema": {"type": "object"}}
    with pytest.raises(ValueError, match="validation error"):
        types.ListToolsResult.model_validate({"tools": [good, crooked]})


@requirement("LINK-16")
async def test_who_looks_at_no_certificate_talks_to_anybody(tmp_path: Path) -> None:
    async def good(asked: RawAsked) -> None:
        await asked.answer({})

    tls = shown(Authority(tmp_path).signed_by_itself("anybody"))
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with (
        raw_site(good, tls=tls) as site,
        aiohttp.ClientSession() as client,
        client.post(site.url, json=ping, ssl=False) as response,
    ):
        assert response.status == 200


@requirement("GUARD-06")
def test_a_token_that_is_only_read_proves_what_it_says() -> None:
    unsigned = ".".join(map(encoded, (b'{"alg":"none"}', b'{"sub":"root"}', b"")))
    assert jwt.decode(unsigned, options={"verify_signature": False})["sub"] == "root"


@requirement("RES-12")
def test_the_task_of_another_is_told_as_ours() -> None:
    call = {"name": "poke", "arguments": {"text": "another"}}
    asked = [("tools/call", call), ("tasks/get", {"taskId": "t0"})]
    lines = [json.dumps({"jsonrpc": "2.0", "id": 1, "method": name, "params": told}) for name, told in asked]
    run = [sys.executable, "-m", "tests.servers.taskmaster", "stateless"]
    said = subprocess.check_output(run, input="\n".join(lines) + "\n", text=True, cwd=ROOT, timeout=60)
    assert STOLEN in said.splitlines()[1]


@requirement("QUAL-12")
async def test_where_nobody_shares_the_first_has_everything() -> None:
    places = asyncio.Semaphore(64)
    for _ in range(64):
        await places.acquire()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05), places:
            pass


@requirement("QUAL-12")
def test_a_few_threads_are_soon_all_taken() -> None:
    over = threading.Event()
    with ThreadPoolExecutor(4) as threads:
        for _ in range(20):
            threads.submit(over.wait)
        honest = threads.submit(str)
        with pytest.raises(TimeoutError):
            honest.result(timeout=0.05)
        over.set()


@requirement("QUAL-12")
def test_what_is_simply_spelled_or_searched_costs_many_times_its_size() -> None:
    spelled = re.sub("[\x7f\u200b]", lambda hidden: f"⟨U+{ord(hidden[0]):04X}⟩", "x\x7f" * 1_000)
    assert len(spelled.encode()) > 5 * len("x\x7f" * 1_000)
    assert not grows_linearly(lambda size: re.search(r"\\+\Z", "\\" * size + "x"), 2_000)


@requirement("QUAL-03")
def test_who_follows_a_path_of_any_length_never_comes_back() -> None:
    def seconds(folders: int) -> float:
        began = time.process_time()
        os.path.realpath("/a" * folders)
        return time.process_time() - began

    assert seconds(80_000) > 6 * min(seconds(20_000), seconds(20_000))  # 16, where nothing else runs; 4 would be fine


@requirement("CONF-14")
def test_a_reference_is_followed_whoever_wrote_it(tmp_path: Path) -> None:
    """As it must be, where the user did."""
    (tmp_path / "any.py").write_text("print('whatever it likes')")
    given = f"secret://command/{sys.executable} {tmp_path / 'any.py'}"
    assert resolve(kept_secret(Vault(tmp_path), given)) == "whatever it likes"


@requirement("PLUG-04")
def test_a_workspace_that_is_a_home_holds_our_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beneath it is where it lies, so a check of paths alone lets everybody in."""
    home.mkdir(exist_ok=True)
    (home / "gateway.token").write_text("secret")
    monkeypatch.setattr(confine, "home", lambda: Path("/nowhere"))
    with confine.confined(home.parent, f"{home.name}/gateway.token", "read") as found:
        descriptor = found.open(os.O_RDONLY)
    with open(descriptor, "rb") as file:
        assert file.read() == b"secret"
