"""The checks of `weft doctor` that need the configuration: tools, delegates, servers, one function per area.

Nothing is started and nothing is called, whatever is found.
"""

from __future__ import annotations

from collections.abc import Iterator

from clawft.app import App
from clawft.catalog.names import fit
from clawft.catalog.snapshot import CatalogEntry
from clawft.cli.doctor.checks import DoctorFinding, fail, ok, warn
from clawft.config.places import user_file
from clawft.errors import InvalidConfig
from clawft.policy.delegation import Target

# ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def tools(app: App) -> Iterator[DoctorFinding]:
    entries = app.gateway.tools.entries
    hidden = len(entries) - len(app.gateway.tools.visible(app.caller))
    yield ok("tools", f"{len(entries)} offered" + (f", {hidden} of them hidden by allow/deny" if hidden else ""))
    if app.files.name_any:
        from clawft.cli.doctor.server_checks import recall  # only where there are servers

        recall(app)
    for clash in app.gateway.tools.clashes:
        yield warn("tools", f"{clash.name} is left out: {clash.reason}", "rename one of the two, or use --names plain")
    for entry in app.gateway.tools.entries:
        if _is_shortened(entry):
            yield warn(
                "tools", f"{entry.canonical} is offered as {entry.name}", "its own name is too long or has odd letters"
            )


def _is_shortened(entry: CatalogEntry) -> bool:
    full = f"{entry.origin.server or entry.origin.namespace}__{entry.tool.name}"
    return fit(full) != full


def delegation(app: App) -> Iterator[DoctorFinding]:
    """The targets that could take a task now. Servers are not started here, so claude-flow is left to `servers`."""
    config = app.settings.delegation
    if not config.is_on:
        return
    from clawft.delegate.rules import problems  # only for those who delegate

    missing = app.delegator.missing(app.caller)
    for target, is_on in ((Target.CLAUDE, config.claude_enabled), (Target.OPENAI, config.openai_enabled)):
        if is_on and target in missing:
            yield warn("delegation", f"{target.value}: {missing[target]}", "weft agent --explain -p TASK")
        elif is_on:
            yield ok("delegation", f"{target.value} can take tasks")
    for problem in problems(config.rules):
        yield warn("delegation", problem, "correct delegation.rules")


def web_search(app: App) -> Iterator[DoctorFinding]:
    settings = app.settings
    if not settings.builtin:
        return
    if settings.search_url:
        yield ok("web search", settings.search_url)
    else:
        hint = f'[web] search_url = "https://…/search" in {user_file(settings.home)}, the address of a SearXNG'
        yield warn("web search", "web__search is not offered: no search engine is configured", hint)


def people(app: App) -> Iterator[DoctorFinding]:
    """Whether the gateway could check the tokens of people who log in."""
    if not app.settings.auth_issuer:
        return
    from clawft.auth.bearer import check_installed  # only where people come with tokens of their own

    try:
        check_installed()
    except InvalidConfig as missing:
        yield fail("gateway", missing.message, missing.hint)
    else:
        yield ok("gateway", f"accepts tokens of {app.settings.auth_issuer}")


def providers(app: App) -> Iterator[DoctorFinding]:
    for problem in app.problems:
        yield fail("provider", problem, "update or uninstall the package this entry point belongs to")


def servers(app: App) -> Iterator[DoctorFinding]:
    """Findings in the files about servers; nothing is started."""
    if app.files.name_any:
        from clawft.cli.doctor.server_checks import servers  # only where there are servers

        yield from servers(app)
