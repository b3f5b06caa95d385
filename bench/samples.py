"""What was found out, as rows."""

from collections.abc import Sequence

from msgspec import Struct


class Sample(Struct, frozen=True):
    """One contender, one burst."""

    contender: str
    stage: str
    window: int
    round: int
    calls: int
    rate: float
    p50_us: float
    cpu_us: float
    """Own CPU per call: helpers in, upstream servers out."""
    rss_mib: float
    upstream_bytes: float = 0.0
    """What all its upstream servers together read, per call."""


class Start(Struct, frozen=True):
    """From nothing to a tools/list with all tools, over stdio."""

    contender: str
    stage: str
    round: int
    wall_ms: float
    cpu_ms: float
    rss_mib: float
    tools: int
    window: int = 0


class WarmStart(Struct, frozen=True):
    """A start with many upstream servers whose lists are known from before."""

    contender: str
    stage: str
    round: int
    wall_ms: float
    """From nothing to the tools/list with all tools."""
    cpu_ms: float
    """Own CPU up to there."""
    up: int
    """Upstream servers that had answered by then."""
    stale_up: int
    """Upstream servers that had answered by then where lists are too old to be relied on: all are started at once."""
    connected_ms: float
    """With nothing known: until all of them were spoken to and nothing is left to do."""
    cpu_ms_per_server: float
    """Own CPU up to there, per upstream server."""
    rss_mib: float
    tools: int
    window: int = 0


class Searched(Struct, frozen=True):
    """The labelled queries of the tests over their thousand tools, once."""

    contender: str
    stage: str
    round: int
    index_ms: float
    p50_ms: float
    p99_ms: float
    recall: float
    """Share of queries whose tool is among the first five."""
    tools: int
    window: int = 0


class Editing(Struct, frozen=True):
    """Medians of one round of calls to the IDE tools, with a warm language server and no editor."""

    contender: str
    stage: str
    round: int
    hover_ms: float
    references_ms: float
    edit_ms: float
    """From the edit to diagnostics of the new text."""
    server: str = ""
    """The language server that answered, with its version."""
    window: int = 0


class ImportCost(Struct, frozen=True):
    what: str
    round: int
    cpu_ms: float


class Absent(Struct, frozen=True):
    """A contender that could not be measured, and why."""

    contender: str
    stage: str
    reason: str
    installed: bool = True


class Results(Struct, frozen=True):
    """Everything one run found out."""

    samples: Sequence[Sample] = ()
    starts: Sequence[Start] = ()
    crowd: Sequence[WarmStart] = ()
    searches: Sequence[Searched] = ()
    editing: Sequence[Editing] = ()
    imports: Sequence[ImportCost] = ()
    modules: Sequence[str] | None = None
    """None: not looked at."""
    absent: Sequence[Absent] = ()
    seconds: float = 0.0
