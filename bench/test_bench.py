"""The parts of the benchmark that decide: what counts as an answer, what passes, what a start may import."""

from pathlib import Path

import msgspec
import pytest

from bench.budget import Budget, Budgets, Imports, Verdict, as_share, judge, judge_imports, read
from bench.contenders import CONTENDERS, CROWD, LEGS, OURS, STARTS, Fleet
from bench.editing import STAGE as EDITING
from bench.family import family
from bench.figures import share
from bench.load import Bound
from bench.measure import rounds
from bench.messages import FIRST_ID, HANDSHAKE, LAST_ID, STATELESS, Dialect, Echo, Listing, WrongAnswer, echo_call
from bench.report import report
from bench.running import all_tools, started
from bench.samples import Absent, Editing, Results, Sample, Start, WarmStart
from bench.searches import STAGE as SEARCH
from bench.starts import imported
from tests.requirements import requirement

WIDEST = 120
STAGES = [*LEGS, *STARTS, CROWD.name, SEARCH, EDITING]


def _sample(contender: str, round: int, cpu_us: float) -> Sample:
    return Sample(
        contender=contender,
        stage="stdio",
        window=64,
        round=round,
        calls=1_000,
        rate=123_456.0,
        p50_us=12_345.0,
        cpu_us=cpu_us,
        rss_mib=123.0,
    )


def _echo(id: int, text_id: int, **more: object) -> bytes:
    call = msgspec.json.decode(echo_call(HANDSHAKE, "echo").fill(text_id))
    text = call["params"]["arguments"]["text"]
    return msgspec.json.encode({"id": id, "result": {"content": [{"type": "text", "text": text}], **more}})


@pytest.mark.parametrize("dialect", [HANDSHAKE, STATELESS])
def test_every_call_has_the_same_length_and_is_json(dialect: Dialect) -> None:
    call = echo_call(dialect, "bench__echo")
    assert len(call.fill(FIRST_ID)) == len(call.fill(LAST_ID)) == call.size
    assert msgspec.json.decode(call.fill(FIRST_ID))["id"] == FIRST_ID


def test_only_the_right_text_is_an_answer() -> None:
    answered = Echo(HANDSHAKE, ["echo"]).answered
    assert answered(_echo(FIRST_ID, FIRST_ID)) == FIRST_ID
    assert answered(b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}') is None
    for wrong in (
        _echo(FIRST_ID, FIRST_ID + 1),
        _echo(FIRST_ID, FIRST_ID, isError=True),
        b'{"id":10000000,"error":{"code":-32603,"message":"no"}}',
        b'{"id":10000000,"result":{"content":[]}}',
        b"not json",
    ):
        with pytest.raises(WrongAnswer):
            answered(wrong)


def test_a_cut_text_is_an_answer_only_where_that_is_allowed() -> None:
    whole = _echo(FIRST_ID, FIRST_ID)
    assert Echo(HANDSHAKE, ["echo"], more=50, enough=90).answered(whole) == FIRST_ID
    for strict in (Echo(HANDSHAKE, ["echo"], more=50), Echo(HANDSHAKE, ["echo"], more=50, enough=120)):
        with pytest.raises(WrongAnswer):
            strict.answered(whole)


def test_calls_take_turns_among_the_tools() -> None:
    echo = Echo(HANDSHAKE, ["a__echo", "b__echo"])
    names = [msgspec.json.decode(echo.fill(FIRST_ID + at))["params"]["name"] for at in range(4)]
    assert names == ["a__echo", "b__echo"] * 2


def test_a_list_that_lacks_a_tool_is_no_answer() -> None:
    listing = Listing(HANDSHAKE, 2)
    assert listing.answered(b'{"id":10000000,"result":{"tools":[{},{}]}}') == FIRST_ID
    with pytest.raises(WrongAnswer):
        listing.answered(b'{"id":10000000,"result":{"tools":[{}]}}')


@requirement("QUAL-05")
def test_a_budget_compares_within_rounds() -> None:
    budgets = Budgets((Budget("cpu", "stdio", "cpu_us", at_most="1/40", window=64, against="sdk"),))
    calm, busy = 1.0, 3.0
    good = [_sample(name, at, cpu * pace) for at, pace in enumerate((calm, busy)) for name, cpu in _AT_THE_LIMIT]
    assert [each.ok for each in judge(budgets, Results(good), ["stdio"])] == [True]
    bad = [msgspec.structs.replace(row, cpu_us=row.cpu_us * 1.01) if row.contender == "weft" else row for row in good]
    assert [each.ok for each in judge(budgets, Results(bad), ["stdio"])] == [False]


_AT_THE_LIMIT = (("weft", 10.0), ("sdk", 400.0))


@requirement("QUAL-05")
def test_what_was_not_measured_has_failed() -> None:
    verdicts = judge(read(), Results(), STAGES)
    assert len(verdicts) == len(read().budget) + 1
    assert all(verdict.fails for verdict in verdicts)


@requirement("QUAL-05")
def test_a_rate_has_to_reach_its_share() -> None:
    budget = Budget("rate", "stdio", "rate", at_least="60", window=64, against="fastmcp")
    assert [budget.holds(found) for found in (59.9, 60.0, 61.0)] == [False, True, True]


@requirement("QUAL-05")
def test_what_not_even_the_floor_reaches_is_a_miss_and_no_failure() -> None:
    budget = Budget("cpu", "stdio", "cpu_us", at_most="1/40", window=64, against="sdk", floor="floor")
    ours = [_sample("weft", 0, 20.0), _sample("sdk", 0, 400.0)]
    for floor, fails in ((5.0, True), (15.0, False)):
        (verdict,) = judge(Budgets((budget,)), Results([*ours, _sample("floor", 0, floor)]), ["stdio"])
        assert not verdict.ok
        assert verdict.fails is fails
    (within,) = judge(Budgets((budget,)), Results([_sample("weft", 0, 10.0), *ours[1:]]), ["stdio"])
    assert within.ok


@requirement("QUAL-05")
def test_a_yardstick_that_is_not_installed_is_skipped_except_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = _judged_without("fastmcp", Absent("fastmcp", "stdio", "not installed", installed=False))
    monkeypatch.delenv("CI", raising=False)
    assert verdict.skipped
    assert not verdict.fails
    monkeypatch.setenv("CI", "true")
    assert verdict.fails
    assert not _judged_without("fastmcp", Absent("fastmcp", "stdio", "fell silent")).skipped


def _judged_without(against: str, absent: Absent) -> Verdict:
    budgets = Budgets((Budget("cpu", "stdio", "cpu_us", at_most="1", window=64, against=against),))
    (verdict,) = judge(budgets, Results([_sample("weft", 0, 10.0)], absent=[absent]), ["stdio"])
    return verdict


@requirement("QUAL-16")
def test_a_forbidden_module_fails_and_an_unwanted_one_is_told() -> None:
    imports = Imports(forbidden=("mcp",), unwanted=("email",))
    assert judge_imports(imports, ["mcp_like", "clawft"]).ok
    assert not judge_imports(imports, ["clawft", "mcp.types"]).ok
    assert judge_imports(imports, ["email.message"]).remark == "unwanted: email"


def test_modules_are_read_from_what_the_interpreter_wrote() -> None:
    said = (
        "import time: self [us] | cumulative | imported package\n"
        "import time:        46 |         46 |   _collections\n"
        "import time | not one of its lines\n"
        "import time:       806 |       1466 | collections.abc\n"
    )
    assert imported(said) == ["_collections", "collections.abc"]


def test_rounds_stop_when_the_next_would_not_fit() -> None:
    assert list(rounds(3, 60.0)) == [0, 1, 2]
    assert list(rounds(3, 0.0)) == [0]


def test_shares() -> None:
    assert share({}, {}) is None
    assert as_share(0.025) == "1/40.0"
    assert as_share(1.5) == "1.5x"


def test_the_report_fits_the_screen() -> None:
    samples = [
        msgspec.structs.replace(_sample(name, 0, 1_234.0), stage=leg.name, window=window)
        for leg in LEGS.values()
        for name in leg.contenders
        for window in leg.windows
    ]
    starts = [Start("sdk", stage, 0, 1_234.0, 1_234.0, 123.0, 100) for stage in STARTS]
    crowd = [WarmStart("gateway", CROWD.name, 0, 1_234.0, 1_234.0, 100, 100, 12_345.0, 12.0, 123.0, 500)]
    editing = [Editing(OURS, EDITING, 0, 12.3, 12.3, 1_234.0, "basedpyright 1.40.2")]
    results = Results(samples, starts, crowd, editing=editing, modules=["clawft"])
    told = report(results, judge(read(), results, STAGES))
    assert max(map(len, told.splitlines())) <= WIDEST
    assert "without an editor, basedpyright 1.40.2 warm" in told


def test_every_budget_names_what_is_measured() -> None:
    who = {**{leg.name: leg.contenders for leg in LEGS.values()}, CROWD.name: CROWD.contenders}
    who |= {stage: starts.contenders for stage, starts in STARTS.items()}
    who[SEARCH] = who[EDITING] = (OURS,)
    for budget in read().budget:
        assert {budget.of, budget.against or budget.of} <= set(who[budget.stage]), budget.title
        assert budget.window in (LEGS[budget.stage].windows if budget.stage in LEGS else (0,)), budget.title
        assert bool(budget.at_most) != bool(budget.at_least), budget.title


@pytest.mark.slow
@pytest.mark.parametrize("leg", ["stdio", "http", "stateless"])
def test_the_floor_answers_every_call(leg: str) -> None:
    with started(CONTENDERS["floor"], LEGS[leg]) as running:
        process, client = running.process, running.client
        client.warm(64)
        before = process.cpu_ns()
        burst = client.burst(64, Bound(calls=500, seconds=10.0))
        assert burst.calls == 500
        assert 0 < process.cpu_ns() - before < 10e9
        assert process.rss_mib() > 1


@pytest.mark.slow
@pytest.mark.parametrize("leg", ["relay", "large"])
def test_an_upstream_is_not_counted_as_the_relay_in_front_of_it(leg: str) -> None:
    with started(CONTENDERS["bytes"], LEGS[leg]) as running:
        all_tools(running.client, 1)
        found = running.process.family
        assert len(found.own) == len(found.upstreams) == 1
        before = running.process.upstream_bytes()
        running.client.burst(1, Bound(calls=3, seconds=10.0))
        assert running.process.upstream_bytes() > before
        assert len(list(running.marks.iterdir())) == 1
    assert family(found.upstreams[0]).upstreams == ()


def test_each_upstream_has_a_tool_of_its_own() -> None:
    fleet = Fleet(servers=3)
    assert CONTENDERS["gateway"].tools(fleet) == ["s00__echo", "s01__echo", "s02__echo"]
    assert set(fleet.config(Path("marks"), {})) == {"mcpServers"}


def test_every_leg_names_known_contenders() -> None:
    for leg in LEGS.values():
        for name in leg.contenders:
            assert CONTENDERS[name].argv[leg.front]
        assert leg.yardstick in leg.contenders
