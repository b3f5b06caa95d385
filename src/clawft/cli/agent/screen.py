"""Shows a run: at a terminal, in a pipe, or as JSON for a program."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, Protocol

import msgspec

from clawft.cli.parser import Options
from clawft.cli.screen import counted, is_terminal, one_line, paint, safe, tell, tell_for_now, width
from clawft.cli.screen.reply import print_text
from clawft.cli.screen.table import cells, cut
from clawft.delegate.budget import RunEnd
from clawft.delegate.events import AnswerEnded, CallEnded, CallStarted, Outcome, RetryAnnounced, RunEvent, TextPiece
from clawft.delegate.turns import ToolUse

MAX_SHOWN = 160
"""Characters of arguments or of a result on one line."""
SMALLEST = 16
"""Columns that both together get in any case."""


class RunScreen(Protocol):
    def begin(self, who: str, reason: str, skipped: Sequence[str]) -> None: ...

    def show(self, event: RunEvent) -> None: ...

    def pause(self) -> None:
        """Somebody is asked something: what happens meanwhile is shown when they have answered."""
        ...

    def resume(self) -> None: ...


def screen_for(options: Options, id: str) -> RunScreen:
    form = "stream-json" if options.json else options.output_format
    match form:
        case "stream-json":
            return StreamScreen(id)
        case "json":
            return JsonScreen(id)
        case _:
            return TextScreen(id, quiet=options.quiet)


class CallsInOrder:
    """Calls in the order they were made in, whichever of them ends first."""

    def __init__(self) -> None:
        self._made: dict[str, CallEnded | None] = {}

    def take(self, event: CallStarted | CallEnded) -> list[CallEnded]:
        """The calls that can be reported now."""
        if isinstance(event, CallEnded) and event.use.id not in self._made:
            return [event]
        self._made[event.use.id] = event if isinstance(event, CallEnded) else None
        return self._without(takewhile(_has_ended, self._made.values()))

    def rest(self) -> list[CallEnded]:
        """The calls that ended although one before them did not."""
        return self._without(filter(_has_ended, self._made.values()))

    def _without(self, calls: Iterable[CallEnded | None]) -> list[CallEnded]:
        ended = [call for call in calls if call is not None]
        for call in ended:
            del self._made[call.use.id]
        return ended


def _has_ended(call: CallEnded | None) -> bool:
    return call is not None


# ── for people ───────────────────────────────────────────────────────────────────────────────────────────────────────


class TextScreen:
    """Text as it comes, one line for each tool call, a summary on stderr. In a pipe the same, without what varies."""

    def __init__(self, id: str, *, quiet: bool) -> None:
        self._id = id
        self._quiet = quiet
        self._live = is_terminal(sys.stdout)
        self._calls = CallsInOrder()
        self._open = False
        """Whether the line on stdout has no end yet."""
        self._running = False
        """Whether stderr shows what runs."""
        self._held: list[RunEvent] | None = None
        """The events that came while somebody was asked."""

    def pause(self) -> None:
        self._end_line()
        self._held = []

    def resume(self) -> None:
        held, self._held = self._held or [], None
        for event in held:
            self.show(event)

    def begin(self, who: str, reason: str, skipped: Sequence[str]) -> None:
        for one in skipped:
            tell(f"weft: {one}")
        if is_terminal(sys.stderr) and not self._quiet:
            tell(paint(f"{who}: {one_line(reason)}", "dim", sys.stderr))

    def show(self, event: RunEvent) -> None:
        if self._held is not None:
            self._held.append(event)
            return
        match event:
            case TextPiece(text) if not self._quiet:
                self._write(text)
            case AnswerEnded() if not self._quiet:
                self._end_line()
            case CallStarted(use) if not self._quiet:
                self._show_running(_shown_name(use))
                self._calls.take(event)
            case CallEnded() if not self._quiet:
                for call in [event] if self._live else self._calls.take(event):
                    self._show_call(call)
            case RetryAnnounced(reason, seconds):
                self._end_line()
                tell(paint(f"{one_line(reason)}; again in {seconds:.1f} s", "yellow", sys.stderr))
            case Outcome():
                self._show_end(event)
            case _:
                pass

    def _show_call(self, event: CallEnded) -> None:
        """One line, which fits the terminal if there is one."""
        self._end_line()
        took = f"  {event.seconds:.2f} s" if self._live else ""
        name = _shown_name(event.use)
        fixed = cells(f"[tool] {name}  → {event.verdict}: {took}")
        room = max(width() - fixed, SMALLEST) if self._live else 2 * MAX_SHOWN
        given = cut(one_line(msgspec.json.encode(event.use.input).decode()), min(MAX_SHOWN, room // 2))
        result = cut(one_line(event.result.text), min(MAX_SHOWN, room - cells(given)))
        mark = paint(event.verdict, "green" if event.verdict == "ok" else "red")
        print(f"[tool] {paint(name, 'cyan')} {given} → {mark}: {result}{paint(took, 'dim')}", flush=True)

    def _show_running(self, name: str) -> None:
        """Gone as soon as something else is to be shown."""
        self._end_line()
        if self._live and is_terminal(sys.stderr):
            tell_for_now(paint(f"… {name}", "dim", sys.stderr))
            self._running = True

    def _show_end(self, outcome: Outcome) -> None:
        for call in [] if self._live else self._calls.rest():
            self._show_call(call)
        self._end_line()
        if outcome.state is RunEnd.DONE:
            if self._quiet:
                print_text(outcome.text)
        else:
            self._show_failure(outcome)
        if not self._quiet:
            tell(paint(f"{summary(outcome)}; {self._id}", "dim", sys.stderr))

    def _show_failure(self, outcome: Outcome) -> None:
        if outcome.state is RunEnd.REFUSED and outcome.text:
            tell(safe(outcome.text))
        tell(f"weft: {safe(outcome.reason)}")
        hint = f"weft agent --resume {self._id} continues it" if outcome.state is RunEnd.CANCELLED else outcome.hint
        if hint:
            tell(f"hint: {hint}")

    def _write(self, text: str) -> None:
        if self._running:
            self._end_line()
        sys.stdout.write(safe(text) if self._live else text)
        sys.stdout.flush()
        self._open = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._running:
            tell_for_now()
            self._running = False
        if self._open:
            print(flush=True)
            self._open = False


def summary(outcome: Outcome) -> str:
    spent, usage = outcome.spent, outcome.spent.usage
    cost = "" if spent.cost is None else f", about ${spent.cost:.4f}"
    read = usage.input + usage.cache_write + usage.cache_read
    return (
        f"{outcome.state.value}: {counted(spent.turns, 'turn')}, {counted(outcome.calls, 'tool call')}, "
        f"{read:,} tokens in, {usage.output:,} out{cost}, {outcome.seconds:.1f} s"
    )


# ── for programs ─────────────────────────────────────────────────────────────────────────────────────────────────────


class _OutputAlone:
    """A screen whose output is no part of the talk at the terminal."""

    def pause(self) -> None:
        pass

    def resume(self) -> None:
        pass


class StreamScreen(_OutputAlone):
    """One JSON object a line, as it happens."""

    def __init__(self, id: str) -> None:
        self._id = id

    def begin(self, who: str, reason: str, skipped: Sequence[str]) -> None:
        self._print({"type": "start", "id": self._id, "target": who, "because": reason, "skipped": list(skipped)})

    def show(self, event: RunEvent) -> None:
        self._print(members_of(event, self._id))

    def _print(self, members: dict[str, Any]) -> None:
        print(msgspec.json.encode(members).decode(), flush=True)


class JsonScreen(_OutputAlone):
    """One JSON object at the end."""

    def __init__(self, id: str) -> None:
        self._id = id
        self._order = CallsInOrder()
        self._calls: list[CallEnded] = []

    def begin(self, who: str, reason: str, skipped: Sequence[str]) -> None:
        self._begun = {"target": who, "because": reason}

    def show(self, event: RunEvent) -> None:
        if isinstance(event, CallStarted | CallEnded):
            self._calls += self._order.take(event)
        if isinstance(event, Outcome):
            calls = [members_of(call, self._id) for call in (*self._calls, *self._order.rest())]
            members = {**members_of(event, self._id), **self._begun, "tool_calls": calls, "type": "result"}
            print(msgspec.json.format(msgspec.json.encode(members), indent=2).decode(), flush=True)


def members_of(event: RunEvent, id: str) -> dict[str, Any]:
    """An event as programs get it."""
    match event:
        case TextPiece(text):
            return {"type": "text", "text": text}
        case CallStarted(use):
            return {"type": "tool_call", "id": use.id, "name": use.name, "input": use.input}
        case CallEnded(use, result, seconds, verdict):
            known = {"type": "tool_result", "id": use.id, "name": use.name, "input": use.input}
            return {**known, "verdict": verdict, "text": result.text, "ms": round(seconds * 1000, 1)}
        case AnswerEnded(turn, text, usage):
            return {"type": "answer", "turn": turn, "text": text, "usage": usage}
        case RetryAnnounced(reason, seconds, attempt):
            return {"type": "retry", "reason": reason, "ms": round(seconds * 1000), "attempt": attempt}
        case Outcome():
            return _members_of_end(event, id)


def _shown_name(use: ToolUse) -> str:
    """A model may ask for a tool by any name."""
    return cut(one_line(use.name), MAX_SHOWN)


def _members_of_end(outcome: Outcome, id: str) -> dict[str, Any]:
    spent = outcome.spent
    return {
        "type": "end",
        "state": outcome.state.value,
        "is_error": outcome.state is not RunEnd.DONE,
        "result": outcome.text,
        "reason": outcome.reason,
        "hint": outcome.hint,
        "turns": spent.turns,
        "calls": outcome.calls,
        "usage": spent.usage,
        "cost_usd": spent.cost,
        "ms": round(outcome.seconds * 1000),
        "transcript": id,
    }
