"""The report: one table per stage, at most 120 columns wide, then the verdicts."""

from collections.abc import Sequence

from bench.budget import Verdict, as_share
from bench.contenders import CONTENDERS, CROWD, IMPORTS, LEGS, STARTS, Leg
from bench.figures import Spread, by_round, share, spread
from bench.samples import Results

NOTHING = "-"
Row = Sequence[str]


def report(results: Results, verdicts: Sequence[Verdict]) -> str:
    parts = [_leg(leg, results) for leg in LEGS.values() if any(row.stage == leg.name for row in results.samples)]
    parts += [_starts(stage, results) for stage in STARTS if any(row.stage == stage for row in results.starts)]
    if results.crowd:
        parts.append(_crowd(results))
    if results.editing:
        parts.append(_editing(results))
    if results.searches:
        parts.append(_searches(results))
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
    each = [word for window in leg.windows for word in _columns(window, leg.yardstick)]
    windows = ", then ".join("one at a time" if window == 1 else f"{window} in flight" for window in leg.windows)
    title = f"{leg.title} ({leg.dialect.version}): {windows}"
    return table(title, ["", *each, "RSS MiB"], [_leg_row(leg, x, results) for x in leg.contenders])


def _columns(window: int, yardstick: str) -> Row:
    """How long a call takes is told only where it does not wait behind others."""
    latency = ["p50 us"] if window == 1 else []
    return ["calls/s", *latency, "CPU us/call", f": {yardstick}"]


def _leg_row(leg: Leg, name: str, results: Results) -> Row:
    figures = [word for window in leg.windows for word in _window(leg, window, name, results)]
    memory = spread(by_round(results, leg.name, leg.windows[-1], name, "rss_mib").values())
    return [CONTENDERS[name].title, *figures, _middle(memory)]


def _window(leg: Leg, window: int, name: str, results: Results) -> Row:
    def each(measure: str, of: str = name) -> dict[int, float]:
        return by_round(results, leg.name, window, of, measure)

    latency = [_middle(spread(each("p50_us").values()))] if window == 1 else []
    return [
        _middle(spread(each("rate").values())),
        *latency,
        _range(spread(each("cpu_us").values())),
        _share(share(each("cpu_us"), each("cpu_us", leg.yardstick))),
    ]


def _starts(stage: str, results: Results) -> str:
    starts = STARTS[stage]
    head = ["", "tools", "wall ms", "CPU ms", f": {starts.yardstick}", "RSS MiB"]
    title = f"{starts.title}: spawn, initialize, first whole tools/list answered"
    return table(title, head, [_start_row(stage, name, results) for name in starts.contenders])


def _start_row(stage: str, name: str, results: Results) -> Row:
    def each(measure: str, of: str = name) -> dict[int, float]:
        return by_round(results, stage, 0, of, measure)

    return [
        CONTENDERS[name].title,
        _middle(spread(each("tools").values())),
        _range(spread(each("wall_ms").values())),
        _range(spread(each("cpu_ms").values())),
        _share(share(each("cpu_ms"), each("cpu_ms", STARTS[stage].yardstick))),
        _middle(spread(each("rss_mib").values())),
    ]


def _crowd(results: Results) -> str:
    def each(measure: str) -> str:
        return _range(spread(by_round(results, CROWD.name, 0, CROWD.contenders[0], measure).values()))

    rows = [
        ["tools/list answered: wall ms", each("wall_ms")],
        ["own CPU ms up to there", each("cpu_ms")],
        ["servers that had answered by then", each("up")],
        ["the same, lists too old to rely on", each("stale_up")],
        ["RSS MiB then", each("rss_mib")],
        ["nothing known, all servers asked: wall ms", each("connected_ms")],
        ["own CPU ms per server up to there", each("cpu_ms_per_server")],
    ]
    return table(f"start with {CROWD.title}, {CROWD.expected_tools} tools", ["", "weft gateway"], rows)


def _editing(results: Results) -> str:
    rows = [
        ["hover p50 ms", _range(spread(row.hover_ms for row in results.editing))],
        ["references p50 ms", _range(spread(row.references_ms for row in results.editing))],
        ["edit to fresh diagnostics p50 ms", _range(spread(row.edit_ms for row in results.editing))],
    ]
    servers = " and ".join(sorted({row.server for row in results.editing}))
    return table(f"the IDE tools without an editor, {servers} warm", ["", "weft"], rows)


def _searches(results: Results) -> str:
    def each(measure: str) -> str:
        return _range(spread(getattr(row, measure) for row in results.searches))

    rows = [
        ["one search, p50 ms", each("p50_ms")],
        ["one search, p99 ms", each("p99_ms")],
        ["index of all tools, ms", each("index_ms")],
        ["found among the first five, %", _range(spread(row.recall * 100 for row in results.searches))],
    ]
    return table(f"search over {results.searches[0].tools} tools", ["", "weft"], rows)


def _imports(results: Results) -> str:
    rows = [[what, _range(spread(row.cpu_ms for row in results.imports if row.what == what))] for what in IMPORTS]
    return table("the price of imports", ["", "CPU ms"], rows)


def _absent(results: Results) -> list[str]:
    return [f"not measured: {each.contender} ({each.stage}): {each.reason}" for each in results.absent]


def _verdicts(verdicts: Sequence[Verdict]) -> str:
    lines = [_verdict(each) for each in verdicts]
    return "\n".join(["budgets", *lines])


def _verdict(verdict: Verdict) -> str:
    word = "SKIP" if verdict.skipped else "PASS" if verdict.ok else "FAIL" if verdict.fails else "MISS"
    line = f"{word}  {verdict.title}: {verdict.found} ({verdict.allowed})"
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
