"""Shows the delegate that would get a task, and the reason; nothing is run."""

from __future__ import annotations

from clawft.app import App
from clawft.cli.parser import Options
from clawft.cli.screen import print_fields
from clawft.cli.screen.document import print_json
from clawft.cli.setup import with_app
from clawft.delegate.delegator import Delegator
from clawft.delegate.rules import Decision
from clawft.policy.delegation import Target


def explain(options: Options) -> int:
    return with_app(options, lambda app: _explain(app, options))


async def _explain(app: App, options: Options) -> int:
    delegator = app.delegator
    decision, missing = decided(delegator, app, options), delegator.missing(app.caller)
    if options.json:
        print_json(
            {
                "target": decision.target.value,
                "reason": decision.reason,
                "rule": decision.rule or None,
                "tools": decision.tools,
                "complexity": decision.complexity,
                "skipped": decision.skipped,
                "unavailable": {target.value: fault for target, fault in missing.items()},
            }
        )
        return 0
    print_fields(
        [
            ("target", decision.target.value),
            ("because", decision.reason),
            ("complexity", f"{decision.complexity:g} (below 0.3 simple, above 0.7 hard)"),
            ("tools", ", ".join(decision.tools)),
            *(("skipped", skipped) for skipped in decision.skipped),
            *(("unavailable", f"{target.value}: {fault}") for target, fault in missing.items()),
        ]
    )
    return 0


def decided(delegator: Delegator, app: App, options: Options) -> Decision:
    """By the user, else by the rules; without a rule for it, whoever is there works for the person who asks."""
    if options.target != "auto":
        return delegator.asked_for(options.task, Target(options.target), f"--target {options.target}")
    decision = delegator.decide(options.task, app.caller)
    if decision.rule:
        return decision
    missing = delegator.missing(app.caller)
    here = next((one for one in (Target.CLAUDE, Target.OPENAI) if one not in missing), Target.LOCAL)
    reason = "no rule matches" if here is Target.LOCAL else f"no rule matches, and {here.value} is there"
    return Decision(here, reason, complexity=decision.complexity, skipped=decision.skipped)
