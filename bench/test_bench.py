"""The parts of the benchmark that decide: what counts as an answer, what passes, what a start may import."""

from pathlib import Path

import msgspec
import pytest

from bench.budget import Budget, Budgets, Imports, as_share, judge, judge_imports, read
from bench.contenders import CONTENDERS, LEGS
from bench.figures import Results, share
from bench.load import Bound
from bench.measure import Sample, Start, imported, rounds, started
from bench.messages import FIRST_ID, HANDSHAKE, LAST_ID, STATELESS, Dialect, WrongAnswer, answered, echo_call
from bench.report import report
from tests.requirements import requirement

WIDEST = 120


def _sample(contender: str, round: int, cpu_us: float) -> Sample:
    return Sample(
        contender=contender,
        leg="stdio",
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


@requirement("QUAL-05")
def test_a_budget_compares_within_rounds() -> None:
    budgets = Budgets((Budget("cpu", "stdio", "cpu_us", "1/40", window=64, against="sdk"),))
    calm, busy = 1.0, 3.0
    good = [_sample(name, at, cpu * pace) for at, pace in enumerate((calm, busy)) for name, cpu in _AT_THE_LIMIT]
    assert [each.ok for each in judge(budgets, Results(good), ["stdio"])] == [True]
    bad = [msgspec.structs.replace(row, cpu_us=row.cpu_us * 1.01) if row.contender == "weft" else row for row in good]
    assert [each.ok for each in judge(budgets, Results(bad), ["stdio"])] == [False]


_AT_THE_LIMIT = (("weft", 10.0), ("sdk", 400.0))


@requirement("QUAL-05")
def test_what_was_not_measured_has_failed() -> None:
    verdicts = judge(read(), Results(), [*LEGS, "start"])
    assert verdicts
    assert not any(verdict.ok for verdict in verdicts)


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
        msgspec.structs.replace(_sample(name, 0, 1_234.0), leg=leg.name, window=window)
        for leg in LEGS.values()
        for name in leg.contenders
        for window in (1, 64)
    ]
    starts = [Start("sdk", 0, 1_234.0, 1_234.0, 123.0, 100)]
    results = Results(samples, starts, modules=["clawft"])
    told = report(results, judge(read(), results, [*LEGS, "start"]))
    assert max(map(len, told.splitlines())) <= WIDEST


@pytest.mark.slow
@pytest.mark.parametrize("leg", LEGS)
def test_the_floor_answers_every_call(leg: str) -> None:
    with started(CONTENDERS["floor"], LEGS[leg]) as (process, client):
        client.warm(64)
        before = process.cpu_ns()
        burst = client.burst(64, Bound(calls=500, seconds=10.0))
        assert burst.calls == 500
        assert 0 < process.cpu_ns() - before < 10e9
        assert process.rss_mib() > 1


def test_every_leg_names_known_contenders() -> None:
    for leg in LEGS.values():
        for name in leg.contenders:
            program = CONTENDERS[name].command(leg.front, 1)[1]
            assert program == "-m" or Path(program).is_file()
