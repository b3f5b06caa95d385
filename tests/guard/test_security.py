"""Commands and addresses in arguments are judged before any tool runs."""

import asyncio
import json
import threading
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.errors import RequestTimeout
from clawft.guard.security import HOSTS_AT_ONCE, Resolve, Security, resolve_host
from clawft.link.http_out import dns
from clawft.link.http_out.dns import Place
from clawft.model import Allow, Ask, Call, Caller, Capabilities, Deny, Question, Reply, SilentTalk, Verdict
from clawft.policy import arguments as found_in
from clawft.policy import command, search
from clawft.policy import url as url_policy
from clawft.policy.command import CommandPolicy
from clawft.policy.url import UrlPolicy
from tests.guard.support import answers, call, result_of
from tests.requirements import requirement

DONE = Reply.text("done")
ABLE = Caller(capabilities=Capabilities(elicit_form=True))


async def nowhere(host: str) -> Sequence[str]:
    return ()


def guard(resolve: Any = nowhere, **urls: Any) -> Security:
    return Security(CommandPolicy(), UrlPolicy(**urls), resolve)


async def judged(arguments: object, security: Security | None = None, server: str = "") -> Reply:
    raw = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
    return await (security or guard())(call(raw, server=server), answers(DONE))


@requirement("GUARD-03", "T-7.8", "CRIT-01", "GUARD-05", "SEC-A06")
@pytest.mark.parametrize("server", ["", "github"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "rm -rf /"},
        {"steps": [{"run": "rm -rf /"}]},
        b'{"comm\\u0061nd":"rm \\u002drf /"}',
        {"url": "http://127.0.0.1/x"},
        {"deep": [{"where": "http://169.254.169.254/latest"}]},
    ],
)
async def test_a_dangerous_call_is_refused_whoevers_tool_it_is(arguments: object, server: str) -> None:
    reply = await judged(arguments, server=server)
    assert reply.is_error
    assert reply.refused
    told = result_of(reply)["content"][0]["text"]
    assert f"refused by the rule {reply.refused}" in told
    assert "to allow it, in config.toml: security." in told


@requirement("GUARD-03", "T-7.9")
@pytest.mark.parametrize(
    "arguments",
    [{}, {"command": "ls -la"}, {"url": "https://example.com/"}, {"text": "a\nb", "n": 5}, {"s": '"a": "b"'}],
)
async def test_a_harmless_call_passes(arguments: object) -> None:
    assert await judged(arguments) is DONE


@requirement("GUARD-03")
@pytest.mark.parametrize(
    "arguments",
    [
        b'{"command":"rm -rf /","n":1e400}',
        b'{"command":"rm -rf /","n":' + b"9" * 5000 + b"}",
        b'{"command":"rm -rf /","command":"ls"}',
        b'{"command":"ls","comm\\u0061nd":"rm -rf /"}',
        b'{"a":[{"command":"rm -rf /","command":"ls"}],"x":"\\": "}',
    ],
)
async def test_what_another_reader_may_read_otherwise_is_refused(arguments: bytes) -> None:
    """We would judge `ls`; a server behind us could run the other one."""
    assert (await judged(arguments)).refused


@requirement("GUARD-04", "AC-15")
async def test_a_name_is_judged_by_the_addresses_it_resolves_to() -> None:
    asked: list[str] = []

    async def inside(host: str) -> Sequence[str]:
        asked.append(host)
        return ("93.184.216.34", "10.0.0.1")

    assert (await judged({"url": "https://example.com/"}, guard(inside))).refused == "url-address"
    assert asked == ["example.com"]
    assert await judged({"url": "https://example.com/"}, guard(inside, allow_networks=("10.0.0.0/8",))) is DONE


@requirement("GUARD-04")
async def test_a_name_that_does_not_resolve_is_left_to_whoever_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await resolve_host("127.0.0.1") == ["127.0.0.1"]
    assert await resolve_host("x" * 300) == ()

    def fails(host: str, port: int | None) -> list[Place]:
        raise OSError("no such host")

    monkeypatch.setattr(dns, "system_addresses", fails)
    assert await resolve_host("example.com") == ()


# ── asking the person ────────────────────────────────────────────────────────────────────────────────────────────────


class Person(SilentTalk):
    """Answers every question the same way and remembers it."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.answer = answer
        self.asked: list[Question] = []

    async def ask(self, questions: Mapping[str, Question], carry: bytes = b"") -> Mapping[str, Mapping[str, Any]]:
        self.asked.extend(questions.values())
        return dict.fromkeys(questions, self.answer)


async def asking(person: Person, arguments: object = None, caller: Caller = ABLE) -> Reply:
    raw = json.dumps(arguments or {"command": "sudo ls"}).encode()
    plain = call(raw, caller=caller)
    return await guard()(
        Call(plain.caller, plain.name, plain.tool, plain.origin, raw, talk=person, asked=plain.asked), answers(DONE)
    )


@requirement("GUARD-13")
async def test_a_yes_lets_it_through_once() -> None:
    person = Person({"action": "accept", "content": {"allow": True}})
    assert await asking(person) is DONE
    assert "sudo ls" in person.asked[0].params["message"]


@requirement("GUARD-13")
@pytest.mark.parametrize(
    "answer",
    [
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "accept"},
        {"action": "accept", "content": None},
        {"action": "accept", "content": []},
        {"action": "accept", "content": {"allow": False}},
        {"action": "accept", "content": {"allow": "true"}},
        {"action": "accept", "content": {"allow": 1}},
        {},
    ],
)
async def test_anything_else_is_a_no(answer: Mapping[str, Any]) -> None:
    assert (await asking(Person(answer))).refused == "privilege"


@requirement("GUARD-13", "SEC-A03")
async def test_no_part_of_a_command_stands_on_a_line_of_its_own_outside_of_its_bars() -> None:
    person = Person({"action": "decline"})
    await asking(person, {"command": "sudo 'x. Allow it once?\n\nweft has checked it\r\x85\u2028and it is safe'"})
    first, *rest = person.asked[0].params["message"].splitlines()
    assert "⟨U+000A⟩⟨U+000A⟩weft has checked it" in first
    assert rest
    assert all(line.startswith("│ ") for line in rest)


class Nobody(Person):
    async def ask(self, questions: Mapping[str, Question], carry: bytes = b"") -> Mapping[str, Mapping[str, Any]]:
        raise RequestTimeout("elicitation/create", 600_000)


@requirement("GUARD-13")
async def test_a_question_that_nobody_answers_is_a_refusal_with_the_way_to_allow_it() -> None:
    reply = await asking(Nobody({}))
    assert reply.refused == "privilege"
    assert b"nobody answered" in reply.result
    assert b"(" in reply.result.partition(b"nobody answered")[2]  # the hint of the rule


@requirement("GUARD-13")
async def test_who_cannot_be_asked_is_refused_with_the_way_to_allow_it() -> None:
    person = Person({"action": "accept", "content": {"allow": True}})
    reply = await asking(person, caller=Caller())
    assert (reply.refused, person.asked) == ("privilege", [])
    assert "command_policy.allow" in result_of(reply)["content"][0]["text"]


@requirement("GUARD-13")
async def test_a_yes_covers_only_what_was_shown() -> None:
    person = Person({"action": "accept", "content": {"allow": True}})
    assert await asking(person, {"steps": [{"run": "sudo reboot-it"}, {"run": "sudo ls"}]}) is DONE
    (question,) = person.asked
    assert "sudo reboot-it" in question.params["message"]
    assert "sudo ls" in question.params["message"]


@requirement("GUARD-13")
@pytest.mark.parametrize(
    "command",
    ["sh -c 'sudo ls; sudo touch /etc/x'", "sudo ls " + "a" * 200 + " /etc/x", "sudo ls" + " " * 2000 + "/etc/x"],
)
async def test_a_yes_to_one_program_shows_the_whole_line_it_stands_in(command: str) -> None:
    person = Person({"action": "accept", "content": {"allow": True}})
    assert await asking(person, {"command": command}) is DONE
    message = person.asked[0].params["message"]
    assert message.count("/etc/x") >= 1
    assert " " * 20 not in message


@requirement("GUARD-13")
async def test_a_command_too_long_to_be_read_is_not_asked_about() -> None:
    person = Person({"action": "accept", "content": {"allow": True}})
    reply = await asking(person, {"command": "sudo ls " + "a " * 3000 + "/etc/x"})
    assert (reply.refused, person.asked) == ("privilege", [])


@requirement("GUARD-09")
async def test_a_refusal_shows_the_hidden_characters_of_a_command() -> None:
    reply = await judged({"command": "rm -rf / \x1b[2K\u202ex"})
    told = result_of(reply)["content"][0]["text"]
    assert "⟨U+001B⟩[2K⟨U+202E⟩x" in told
    assert "\x1b" not in told


@requirement("GUARD-13")
async def test_a_no_wins_over_a_question() -> None:
    person = Person({"action": "accept", "content": {"allow": True}})
    reply = await asking(person, {"steps": [{"run": "sudo ls"}, {"run": "rm -rf /"}]})
    assert (reply.refused, person.asked) == ("destroy-root", [])


@requirement("GUARD-04")
async def test_a_slow_resolver_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawft.guard.security.RESOLVE_SECONDS", 0.01)

    ended = threading.Event()

    def slow(host: str, port: int | None) -> list[Place]:
        ended.wait()
        return []

    monkeypatch.setattr(dns, "system_addresses", slow)
    async with asyncio.timeout(5):
        assert await resolve_host("example.com") == ()
    ended.set()


@requirement("GUARD-04")
async def test_so_are_many_slow_names_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawft.guard.security.JUDGE_SECONDS", 0.05)
    asked: list[str] = []

    async def slow(host: str) -> Sequence[str]:
        asked.append(host)
        await asyncio.sleep(0.02)
        return ()

    reply = await judged({"pages": [f"https://host{number}.example/" for number in range(500)]}, guard(slow))
    assert reply.refused == "unreadable"
    assert "name fewer hosts" in result_of(reply)["content"][0]["text"]
    assert len(asked) < 50


@requirement("GUARD-04")
async def test_a_host_is_looked_up_once_however_many_urls_name_it() -> None:
    asked: list[str] = []

    async def find(host: str) -> Sequence[str]:
        asked.append(host)
        return ("10.0.0.1",) if host == "two.test" else ("93.184.216.34",)

    pages = [f"http://one.test/{number}" for number in range(400)]
    assert await judged({"pages": pages}, guard(find)) is DONE
    assert (await judged({"pages": [*pages, "http://two.test:81/", "http://Two.test/"]}, guard(find))).is_error
    assert asked == ["one.test", "one.test", "two.test"]


@requirement("GUARD-04")
async def test_several_hosts_are_looked_up_at_a_time_but_few() -> None:
    """Each waits until as many are here as may be."""
    here, most = 0, 0
    enough = asyncio.Event()

    async def find(host: str) -> Sequence[str]:
        nonlocal here, most
        here += 1
        most = max(most, here)
        if here == HOSTS_AT_ONCE:
            enough.set()
        await enough.wait()
        here -= 1
        return ()

    async with asyncio.timeout(5):
        assert await judged({"pages": [f"http://{n}.test/" for n in range(20)]}, guard(find)) is DONE
    assert most == HOSTS_AT_ONCE <= dns.MAX_OF_ZONE


@requirement("GUARD-03")
async def test_what_repeats_in_a_call_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged_lines: list[str] = []

    def decide(line: str, policy: CommandPolicy) -> Verdict:
        judged_lines.append(line)
        return command.decide(line, policy)

    monkeypatch.setattr("clawft.guard.security.command", SimpleNamespace(decide=decide))
    assert await judged({"commands": ["make test"] * 900}) is DONE
    assert judged_lines == ["make test"]


@requirement("GUARD-03")
async def test_arguments_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[Mapping[str, Any]] = []

    def search_arguments(arguments: Mapping[str, Any]) -> search.FoundTexts:
        searched.append(arguments)
        return plain_search(arguments)

    plain_search = search.search_arguments
    monkeypatch.setattr(search, "search_arguments", search_arguments)
    assert await judged({"text": "a\nb"}) is DONE
    assert searched == [{"text": "a\nb"}]


async def judged_one_by_one(arguments: Mapping[str, Any], resolve: Resolve) -> Verdict:
    """What is said if each text is judged where it stands, and each host looked up where it is named."""

    def line(text: str) -> Verdict:
        verdict = command.decide(text, CommandPolicy())
        return msgspec.structs.replace(verdict, whole=text) if isinstance(verdict, Ask) else verdict

    addresses = [address for _, address in found_in.urls(arguments)]
    early = [line(text) for _, text in found_in.commands(arguments)]
    early += [url_policy.decide(address, (), UrlPolicy()) for address in addresses]
    if any(isinstance(verdict, Deny) for verdict in early):
        return strictest_in_order(early)
    hosts = [(address, url_policy.host_of(address)) for address in addresses]
    late = [
        url_policy.decide(address, await resolve(host), UrlPolicy())
        for address, host in hosts
        if host and not url_policy.literal_addresses(host)
    ]
    return strictest_in_order([*early, *late])


def strictest_in_order(verdicts: Sequence[Verdict]) -> Verdict:
    if denied := [verdict for verdict in verdicts if isinstance(verdict, Deny)]:
        return denied[0]
    asks = [verdict for verdict in verdicts if isinstance(verdict, Ask)]
    if not asks:
        return Allow()
    reasons, whole = (
        {each: None for each in told if each} for told in ([a.reason for a in asks], [a.whole for a in asks])
    )
    return msgspec.structs.replace(asks[0], reason="; ".join(reasons), whole="\n".join(whole))


_lines = st.sampled_from(["ls", "sudo ls", "sudo reboot-it", "rm -rf /", "make", "sudo sh -c 'a; b'"])
_pages = st.builds(
    "http://{}/{}".format, st.sampled_from(["in.test", "out.test", "IN.test", "in.test:81", "10.1.1.1"]), st.text("ab/")
)


@requirement("GUARD-03", "GUARD-04")
@given(st.dictionaries(st.sampled_from(["commands", "pages", "x"]), st.lists(_lines | _pages, max_size=6)))
def test_the_verdict_is_that_of_all_texts_one_by_one(arguments: dict[str, list[str]]) -> None:
    async def find(host: str) -> Sequence[str]:
        return ("10.0.0.1",) if host == "in.test" else ("93.184.216.34",)

    async def both() -> tuple[Verdict, Verdict]:
        return await guard(find).judge(json.dumps(arguments).encode()), await judged_one_by_one(arguments, find)

    together, one_by_one = asyncio.run(both())
    assert together == one_by_one


@requirement("GUARD-03")
async def test_nothing_is_looked_up_for_a_call_that_is_refused_anyway() -> None:
    async def never(host: str) -> Sequence[str]:
        raise AssertionError(host)

    assert (await judged({"command": "rm -rf /", "page": "https://x.example/"}, guard(never))).refused == "destroy-root"


@requirement("GUARD-03", "QUAL-03")
@pytest.mark.parametrize("last", ["echo last", "rm -rf /"])
async def test_arguments_that_take_long_to_judge_hold_nobody_up(last: str) -> None:
    """A thousand commands in one call: the others have their turns meanwhile."""
    raw = json.dumps({"commands": [*(f"echo {number} | cat" for number in range(900)), last]}).encode()
    judging = asyncio.ensure_future(judged(raw))
    turns = 0
    while not judging.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 5
    assert (await judging).is_error == (last != "echo last")


@requirement("GUARD-03")
async def test_what_is_too_long_to_look_at_on_the_way_is_still_judged() -> None:
    assert not (await judged({"text": "x" * 100_000})).is_error
    assert (await judged({"text": "x" * 100_000, "command": "rm -rf /"})).refused == "destroy-root"


@requirement("GUARD-03", "SEC-A06")
async def test_more_commands_than_anybody_judges_are_refused() -> None:
    assert (await judged({"commands": ["echo a"] * 1_001})).refused == "too-complex"
    assert not (await judged({"commands": ["echo a"] * 1_000})).is_error


# ── the shapes of external tools ─────────────────────────────────────────────────────────────────────────────────────


@requirement("GUARD-03", "GUARD-05", "SEC-A06")
@pytest.mark.parametrize(
    "arguments",
    [
        {"command": ["rm -rf /"]},
        {"command": ["ls", "rm -rf /"]},
        {"command": "rm", "args": "-rf /"},
        {"command": "rm", "arguments": "-rf /"},
        {"command": "rm", "options": ["-rf"], "args": "/"},
        {"command": "rm", "args": [["-rf"], "/"]},
        {"command": "bash", "args": "-c 'rm -rf /'"},
        {"command": ["bash", "-c"], "args": ["rm -rf /"]},
        {"argv": ["bash", "-c"], "args": ["rm -rf /"]},
        {"cmd": ["rm"], "args": ["-rf", "/"]},
        {"script": ["cd /", "rm -rf /"]},
        {"script": ["ls", "rm -rf /"]},
        {"run": ["cd /", "rm -rf /"]},
        {"commands": "rm -rf /"},
        {"commands": ["rm", "-rf", "/"]},
        {"commands": [["rm", "-rf", "/"]]},
        {"commands": [{"text": "rm -rf /"}]},
        {"scripts": {"postinstall": "rm -rf /"}},
        {"command": {"line": "rm -rf /"}},
        {"command": {"line": ["rm", "-rf", "/"]}},
        {"command": {"program": "rm", "args": ["-rf", "/"]}},
        {"task": {"command": {"deep": {"shell": "rm -rf /"}}}},
    ],
)
async def test_a_command_is_found_in_every_ordinary_shape(arguments: object) -> None:
    assert (await judged(arguments)).refused == "destroy-root"


@requirement("GUARD-03", "T-7.9")
@pytest.mark.parametrize(
    "arguments",
    [
        {"command": ["git", "commit", "-m", "rm -rf / was bad"]},
        {"command": ["git", "commit", "-m"], "args": ["rm -rf / was bad"]},
        {"command": "git", "args": "commit -m 'rm -rf / was bad'"},
        {"command": ["echo", "rm -rf /"]},
        {"command": ["grep", "rm -rf /", "notes.txt"]},
        {"command": ["python3", "ask.py", "what does `rm -rf /` do?"]},
        {"commands": ["cd build", "rm -rf out", "make -j2"]},
        {"commands": [["npm", "ci"], ["npm", "test"]]},
        {"script": ["cd build", "cmake ..", "make"]},
        {"command": ["prettier", *(f"a file {n}.ts" for n in range(900))]},
        {"command": {"program": "make", "args": ["-C", "src"], "cwd": "/usr/src/app", "env": {"CI": "1"}}},
        {"command": {"name": "deploy", "description": "never runs `rm -rf /`"}},
        {"run": {"id": 7, "status": "completed", "message": "sudo; reboot"}},
        {"command": "search", "parameters": {"query": "rm -rf /"}},
        {"text": ["rm -rf /"], "args": ["-rf", "/"]},
    ],
)
async def test_honest_calls_of_these_shapes_pass(arguments: object) -> None:
    assert await judged(arguments) is DONE


@requirement("GUARD-04", "GUARD-05")
@pytest.mark.parametrize(
    "blank", "\u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff\u200b\u2060\"'<([`"
)
@pytest.mark.parametrize("key", ["url", "text"])
async def test_nothing_before_an_address_hides_it(blank: str, key: str) -> None:
    for url in (f"{blank}http://169.254.169.254/latest", f"http://169.254.169.254{blank}"):
        raw = json.dumps({key: url}, ensure_ascii=False).encode()
        assert (await judged(raw)).refused


@requirement("GUARD-04", "GUARD-05")
@pytest.mark.parametrize("url", ["http+unix://%2Frun%2Fx.sock/", "tcp://127.0.0.1:2375", "localhost:8080/x", "127.1"])
async def test_addresses_that_are_no_plain_urls_are_refused(url: str) -> None:
    assert (await judged({"url": url})).refused
