"""`weft policy explain`: what would become of a call, and what each rule says.

Nothing is run. Names of hosts in URLs are looked up, as the call would do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from clawft.app import App
from clawft.catalog.snapshot import CatalogEntry
from clawft.cli.parser import Options
from clawft.cli.parser.arguments import arguments
from clawft.cli.screen import one_line, paint, print_paragraph, print_table
from clawft.cli.screen.document import print_json
from clawft.cli.setup import show_with_app
from clawft.cli.tools.finding import not_found
from clawft.guard.exposure import RULE as AFTER_STRANGERS
from clawft.guard.security_explained import RuleVerdict, explained
from clawft.model import Allow, Ask, Deny, Grant, Verdict
from clawft.model.verdict import combined
from clawft.policy.exposure import can_do_harm
from clawft.policy.globs import any_matches
from clawft.policy.grant import hides

SHOWN_VALUE = 60
APPROVAL = "approval"
THE_TOOL = "the tool itself"
_TRUSTED = "asks where the folder is not on your list of trusted ones"
ASKS_ITSELF: Mapping[str, str] = {
    "git__push": 'asks before it sends anything, unless git.allow has "push"',
    "git__worktree": 'asks before it removes what was not committed, unless git.allow has "force"',
    **dict.fromkeys((f"cargo__{verb}" for verb in ("build", "check", "clippy", "publish", "test")), _TRUSTED),
    **dict.fromkeys(("build__run", "build__test"), _TRUSTED),
}
"""Tools of ours with questions of their own."""
WORDS = {Allow: "allow", Ask: "ask", Deny: "deny"}
COLOURS = {Allow: "green", Ask: "yellow", Deny: "red"}


class Explanation(Struct, frozen=True):
    tool: str
    verdict: Verdict
    looked: tuple[RuleVerdict, ...]


def run(options: Options) -> int:
    return show_with_app(
        options,
        lambda app: explain(app, options),
        lambda explained: _print_explanation(explained, options),
        tool=options.name,
    )


def _print_explanation(explanation: Explanation, options: Options) -> int:
    if options.json:
        print_json(_document(explanation))
    else:
        _print(explanation)
    return 0


async def explain(app: App, options: Options) -> Explanation:
    entry = app.gateway.tools.find(options.name)
    if entry is None:
        raise not_found(app, options.name)
    schema = msgspec.json.decode(entry.tool.input_schema, type=dict[str, Any])
    given = arguments(options.pairs, options.args, schema)
    looked = [
        *permission(entry.names, app.caller.grant),
        RuleVerdict(APPROVAL, APPROVAL, app.approving.verdict(entry.tool, entry.origin, app.caller)),
        *_after_exposure(app, entry),
        *_own_question(entry),
    ]
    looked += await explained(
        entry.canonical, msgspec.json.encode(given), app.settings.command_policy, app.settings.url_policy
    )
    return Explanation(entry.name, combined([each.verdict for each in looked]), tuple(looked))


def permission(names: Sequence[str], grant: Grant) -> list[RuleVerdict]:
    """The glob that lets the caller see this tool, and the one that hides it."""
    allowing = next((glob for glob in grant.allow if any_matches(names, (glob,))), None)
    denying = next((glob for glob in grant.deny if hides((glob,), names)), None)
    at = "permission"
    if allowing is None:
        allow: Verdict = Deny("tools.allow", "no glob matches it", f'add "{names[0]}" to tools.allow, or --allow')
    else:
        allow = Allow("tools.allow", f"{allowing!r} matches it")
    if denying is None:
        deny: Verdict = Allow("tools.deny", "no glob matches it")
    else:
        deny = Deny("tools.deny", f"{denying!r} hides it", f'remove "{denying}" from tools.deny or --deny')
    return [RuleVerdict(at, "tools.allow", allow), RuleVerdict(at, "tools.deny", deny)]


def _after_exposure(app: App, entry: CatalogEntry) -> list[RuleVerdict]:
    """The verdict of the exposure rule for a call that stands alone: the texts read in a conversation are known to that
    conversation only.
    """
    if not app.settings.ask_after_untrusted or not can_do_harm(entry.tool, entry.origin):
        return []
    later = Allow(AFTER_STRANGERS, "asks in a conversation that has read content of an untrusted server or the web")
    return [RuleVerdict(AFTER_STRANGERS, AFTER_STRANGERS, later)]


def _own_question(entry: CatalogEntry) -> list[RuleVerdict]:
    """The question of the tool itself, which depends on the repository or the folder: those are not looked at here."""
    asks = "" if entry.origin.server else ASKS_ITSELF.get(entry.canonical, "")
    return [RuleVerdict(THE_TOOL, entry.canonical, Allow(entry.canonical, asks))] if asks else []


# ── showing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _document(explanation: Explanation) -> dict[str, Any]:
    return {
        "tool": explanation.tool,
        "verdict": WORDS[type(explanation.verdict)],
        "rule": explanation.verdict.rule,
        "reason": explanation.verdict.reason,
        "hint": hint_of(explanation.verdict),
        "looked": [
            {"at": each.at, "rule": each.rule, "verdict": WORDS[type(each.verdict)], "reason": each.verdict.reason}
            for each in explanation.looked
        ],
    }


def hint_of(verdict: Verdict) -> str:
    return "" if isinstance(verdict, Allow) else verdict.hint


def _print(explanation: Explanation) -> None:
    verdict = explanation.verdict
    word = paint(WORDS[type(verdict)], COLOURS[type(verdict)])
    why = "" if isinstance(verdict, Allow) else f": {one_line(verdict.reason)} (rule {verdict.rule})"
    print(f"{word}  {explanation.tool}{why}")
    if hint_of(verdict):
        print_paragraph(f"→ {hint_of(verdict)}")
    last = ""
    for at in dict.fromkeys(each.at for each in explanation.looked):
        print(f"\n{paint(_cut(one_line(at)), 'dim')}")
        rows = [_row(each) for each in explanation.looked if each.at == at]
        print_table(("RULE", "VERDICT", "WHY"), rows, wrap=True)
        last = at
    if last in (APPROVAL, AFTER_STRANGERS, THE_TOOL):
        print("\nno command or address in these arguments: no further rule applies to them")


def _row(each: RuleVerdict) -> tuple[str, str, str]:
    return each.rule, WORDS[type(each.verdict)], one_line(each.verdict.reason) or "no objection"


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_VALUE else text[:SHOWN_VALUE] + "…"
