"""The closed set of revisions, and the table of methods held against the official one."""

from collections.abc import Iterable

import pytest
from mcp_types.methods import (
    CACHEABLE_METHODS,
    CLIENT_NOTIFICATIONS,
    CLIENT_REQUESTS,
    INPUT_REQUIRED_METHODS,
    SERVER_NOTIFICATIONS,
    SERVER_REQUESTS,
)

from clawft.model import Era
from clawft.wire.methods import METHODS, Sender, names_by_header
from clawft.wire.revisions import HANDSHAKE, NEWEST_HANDSHAKE, REVISIONS, STATELESS, negotiate
from tests.requirements import requirement

TASK_METHODS = {"tasks/get", "tasks/cancel", "tasks/update", "tasks/result", "tasks/list"}
"""An extension now, an experiment before: the official tables leave them out."""
TASK_NOTICES = {"notifications/tasks", "notifications/tasks/status"}


@requirement("WIRE-12")
def test_the_revisions_are_these_five() -> None:
    assert HANDSHAKE == ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
    assert STATELESS == ("2026-07-28",)
    assert (NEWEST_HANDSHAKE, STATELESS[-1]) == ("2025-11-25", "2026-07-28")
    assert set(REVISIONS) == {*HANDSHAKE, *STATELESS}


@requirement("WIRE-12", "SHELL-02")
@pytest.mark.parametrize("offered", HANDSHAKE)
def test_an_offered_revision_that_we_serve_is_echoed(offered: str) -> None:
    assert negotiate(offered) == offered


@requirement("WIRE-12", "SHELL-02")
@pytest.mark.parametrize("offered", ["2026-07-28", "2099-01-01", "2024-10-07", "2025-11-26", "", "zzz", "2025-06"])
def test_an_unknown_revision_is_not_newer_and_never_stateless(offered: str) -> None:
    assert negotiate(offered) == "2025-11-25"


@requirement("WIRE-22", "RES-13")
def test_what_each_revision_knows() -> None:
    knows = {name: _known(name) for name in REVISIONS}
    since_2025_03 = {"annotations", "audio", "progress_message"}
    since_2025_06 = since_2025_03 | {"structured", "titles", "resource_links", "elicitation"}
    since_2025_06 |= {"completion_context"}
    since_2025_11 = since_2025_06 | {"icons", "url_elicitation", "several_blocks"}
    assert knows == {
        "2024-11-05": set[str](),
        "2025-03-26": since_2025_03 | {"batches"},
        "2025-06-18": since_2025_06,
        "2025-11-25": since_2025_11 | {"polling", "core_tasks"},
        "2026-07-28": since_2025_11,
    }


def _known(name: str) -> set[str]:
    revision = REVISIONS[name]
    return {field for field in revision.__struct_fields__ if getattr(revision, field) is True}


# ── methods ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _ours(era: Era, *senders: Sender, answered: bool) -> set[str]:
    return {
        name
        for name, method in METHODS.items()
        if era in method.eras and method.sender in senders and method.answered is answered
    }


def _official(table: Iterable[tuple[str, str]], era: Era) -> set[str]:
    versions = HANDSHAKE if era is Era.HANDSHAKE else STATELESS
    return {method for method, version in table if version in versions}


@requirement("WIRE-11")
@pytest.mark.parametrize("era", list(Era))
def test_requests_of_clients_agree_with_the_official_table(era: Era) -> None:
    ours = _ours(era, Sender.CLIENT, Sender.EITHER, answered=True)
    assert ours - TASK_METHODS == _official(CLIENT_REQUESTS, era) - TASK_METHODS


@requirement("WIRE-11")
@pytest.mark.parametrize("era", list(Era))
def test_requests_of_servers_agree_with_the_official_table(era: Era) -> None:
    ours = _ours(era, Sender.SERVER, Sender.EITHER, answered=True)
    assert ours == _official(SERVER_REQUESTS, era) - TASK_METHODS


@requirement("WIRE-11")
@pytest.mark.parametrize("era", list(Era))
def test_notices_agree_with_the_official_tables(era: Era) -> None:
    servers = _ours(era, Sender.SERVER, Sender.EITHER, answered=False)
    assert servers - TASK_NOTICES == _official(SERVER_NOTIFICATIONS, era) - TASK_NOTICES
    clients = _ours(era, Sender.CLIENT, Sender.EITHER, answered=False)
    assert clients >= _official(CLIENT_NOTIFICATIONS, era) - TASK_NOTICES


@requirement("WIRE-11")
def test_tasks_are_an_extension_now_and_were_an_experiment() -> None:
    stateless = _ours(Era.STATELESS, Sender.CLIENT, answered=True)
    handshake = _ours(Era.HANDSHAKE, Sender.CLIENT, answered=True)
    assert stateless & TASK_METHODS == {"tasks/get", "tasks/update", "tasks/cancel"}
    assert handshake & TASK_METHODS == {"tasks/get", "tasks/result", "tasks/list", "tasks/cancel"}


@requirement("WIRE-11")
def test_which_results_are_cached_and_which_may_ask() -> None:
    assert {name for name, method in METHODS.items() if method.cached} == set(CACHEABLE_METHODS)
    assert {name for name, method in METHODS.items() if method.asks} == set(INPUT_REQUIRED_METHODS)


@requirement("WIRE-11")
def test_what_the_name_header_mirrors() -> None:
    assert {name: method.named_by for name, method in METHODS.items() if method.named_by} == {
        "tools/call": "name",
        "prompts/get": "name",
        "resources/read": "uri",
        "tasks/get": "taskId",
        "tasks/update": "taskId",
        "tasks/cancel": "taskId",
    }
    assert names_by_header("no/such") == ""
