"""The report: one table per stage, at most 120 columns wide, then the verdicts."""

from collections.abc import Sequence

from bench.budget import Verdict, as_share
from bench.contenders import CONTENDERS, IMPORTS, LEGS, STARTERS, YARDSTICK, Leg
from bench.figures import Results, Spread, by_round, share, spread
from bench.measure import WINDOWS

NOTHING = "-"
Row = Sequence[str]


def report(results: Results, verdicts: Sequence[Verdict]) -> str:
    parts = [_leg(leg, results) for leg in LEGS.values() if any(row.leg == leg.name for row in results.samples)]
    if results.starts:
        parts.append(_starts(results))
    if results.imports:
        parts.append(_imports(results))
    if results.absent:
        parts.append("\n".join(_absent(results)))
    parts.append(_verdicts(verdicts))
    return "\n\n".join(parts) + f"\n\n{results.seconds:.0f} s; us and ms are medians over rounds, [least-most]"


def table(title: str, head: Row, rows: Sequence[Row]) -> str:
    """Left-aligned first column, the others right."""
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    lines = [_line(row, widths) for row in (head, *rows)]
    return "\n".join([title, lines[0], "-" * len(lines[0]), *lines[1:]])


def _line(row: Row, widths: Sequence[int]) -> str:
    first, *rest = [
        word.ljust(width) if at == 0 else word.rjust(width)
        for at, (word, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join([first, *rest]).rstrip()


def _leg(leg: Leg, results: Results) -> str:
    head = ["", "calls/s", "p50 us", "CPU us/call", "CPU : sdk", "calls/s", "CPU us/call", "CPU : sdk", "RSS MiB"]
    title = f"{leg.title} ({leg.dialect.version}): one at a time, then {WINDOWS[-1]} in flight"
    return table(title, head, [_leg_row(leg, name, results) for name in leg.contenders])


def _leg_row(leg: Leg, name: str, results: Results) -> Row:
    alone, many = WINDOWS
    return [
        CONTENDERS[name].title,
        _middle(_spread(results, leg, alone, name, "rate")),
        _middle(_spread(results, leg, alone, name, "p50_us")),
        *_cpu(results, leg, alone, name),
        _middle(_spread(results, leg, many, name, "rate")),
        *_cpu(results, leg, many, name),
        _middle(_spread(results, leg, many, name, "rss_mib")),
    ]


def _cpu(results: Results, leg: Leg, window: int, name: str) -> tuple[str, str]:
    ours = by_round(results, leg.name, window, name, "cpu_us")
    yardstick = by_round(results, leg.name, window, YARDSTICK, "cpu_us")
    return _range(spread(ours.values())), _share(share(ours, yardstick))


def _spread(results: Results, leg: Leg, window: int, name: str, measure: str) -> Spread | None:
    return spread(by_round(results, leg.name, window, name, measure).values())


def _starts(results: Results) -> str:
    head = ["", "tools", "wall ms", "CPU ms", "CPU : sdk", "RSS MiB"]
    title = "cold start over stdio: spawn, initialize, first tools/list answered"
    return table(title, head, [_start_row(name, results) for name in STARTERS])


def _start_row(name: str, results: Results) -> Row:
    def each(measure: str, of: str = name) -> dict[int, float]:
        return by_round(results, "start", 0, of, measure)

    return [
        CONTENDERS[name].title,
        _middle(spread(each("tools").values())),
        _range(spread(each("wall_ms").values())),
        _range(spread(each("cpu_ms").values())),
        _share(share(each("cpu_ms"), each("cpu_ms", YARDSTICK))),
        _middle(spread(each("rss_mib").values())),
    ]


def _imports(results: Results) -> str:
    rows = [[what, _range(spread(row.cpu_ms for row in results.imports if row.what == what))] for what in IMPORTS]
    return table("the price of imports", ["", "CPU ms"], rows)


def _absent(results: Results) -> list[str]:
    return [f"not measured: {each.contender} ({each.stage}): {each.reason}" for each in results.absent]


def _verdicts(verdicts: Sequence[Verdict]) -> str:
    lines = [_verdict(each) for each in verdicts]
    return "\n".join(["budgets", *lines])


def _verdict(verdict: Verdict) -> str:
    word = "PASS" if verdict.ok else "FAIL"
    line = f"{word}  {verdict.title}: {verdict.found} (at most {verdict.allowed})"
    return f"{line}\n      {verdict.remark}" if verdict.remark else line


def _middle(found: Spread | None) -> str:
    return f"{found.median:,.0f}" if found else NOTHING


def _range(found: Spread | None) -> str:
    """Enough digits to compare small figures, no more."""
    if found is None:
        return NOTHING
    digits = 1 if found.median < 100 else 0
    return f"{found.median:.{digits}f} [{found.least:.{digits}f}-{found.most:.{digits}f}]"


def _share(found: Spread | None) -> str:
    return as_share(found.median) if found else NOTHING
