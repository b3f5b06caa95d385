"""What `weft doctor` says where the configuration can be loaded."""

import sys
from types import SimpleNamespace
from typing import Any, cast

import pytest

from clawft.cli.doctor.app_checks import people
from tests.requirements import requirement


@requirement("AGENT-14")
def test_a_missing_extra_of_the_gateway_is_seen_before_it_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    app = cast("Any", SimpleNamespace(settings=SimpleNamespace(auth_issuer="https://login.example")))
    assert [finding.level for finding in people(app)] == ["ok"]
    for name in [name for name in sys.modules if name.partition(".")[0] == "jwt"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jwt", None)
    (missing,) = people(app)
    assert (missing.level, "the extra `oauth`" in missing.said) == ("fail", True)
    assert list(people(cast("Any", SimpleNamespace(settings=SimpleNamespace(auth_issuer=""))))) == []
