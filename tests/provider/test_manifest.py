"""Manifests: what they hold and what they refuse."""

from pathlib import Path, PurePath

import msgspec
import pytest

from clawft.errors import PermissionDenied
from clawft.provider.manifest import (
    Manifest,
    Permissions,
    check_host,
    check_path,
    check_process,
    check_variable,
    expand,
    places,
)
from tests.requirements import requirement

KNOWN = {"$WORKSPACE": "/ws", "$CARGO_HOME": "/home/ann/.cargo", "~": "/home/ann"}
MANIFEST = Manifest(
    id="com.example.plugin",
    name="Example",
    permissions=Permissions(
        filesystem=("$WORKSPACE", "~/.clawft/tokens/"), network=("crates.io", "*.example.org"), env_vars=("CARGO_HOME",)
    ),
)


@requirement("PLUG-01", "F1-A06")
def test_a_manifest_says_who_and_what() -> None:
    assert msgspec.to_builtins(MANIFEST) == {
        "id": "com.example.plugin",
        "name": "Example",
        "version": "0.1.0",
        "capabilities": ("tool",),
        "permissions": {
            "filesystem": ("$WORKSPACE", "~/.clawft/tokens/"),
            "network": ("crates.io", "*.example.org"),
            "env_vars": ("CARGO_HOME",),
            "shell": False,
        },
    }


@requirement("PLUG-04")
def test_variables_stand_for_places() -> None:
    assert expand("$WORKSPACE/src", KNOWN) == PurePath("/ws/src")
    assert expand("~/.clawft/tokens/", KNOWN) == PurePath("/home/ann/.clawft/tokens")
    assert expand("$CARGO_HOME", KNOWN) == PurePath("/home/ann/.cargo")
    assert expand("/etc/$WORKSPACE", KNOWN) == PurePath("/etc/$WORKSPACE")


@requirement("PLUG-04")
def test_places_come_from_the_environment(tmp_path: Path) -> None:
    assert places(tmp_path, {"HOME": "/h"}) == {
        "$WORKSPACE": str(tmp_path.resolve()),
        "$CARGO_HOME": "/h/.cargo",
        "~": "/h",
    }
    assert places(tmp_path, {"HOME": "/h", "CARGO_HOME": "/c"})["$CARGO_HOME"] == "/c"


@requirement("PLUG-04")
@pytest.mark.parametrize("path", ["/ws", "/ws/a/b", "/home/ann/.clawft/tokens/x.json"])
def test_granted_paths_pass(path: str) -> None:
    check_path(MANIFEST, "read", PurePath(path), KNOWN)


@requirement("PLUG-04")
@pytest.mark.parametrize("path", ["/ws-evil/a", "/etc/passwd", "/home/ann/.clawft/config", "/"])
def test_other_paths_are_refused_with_the_permission_that_is_missing(path: str) -> None:
    with pytest.raises(PermissionDenied, match=r"filesystem .*permissions\.filesystem of com\.example\.plugin"):
        check_path(MANIFEST, "read", PurePath(path), KNOWN)


@requirement("PLUG-04")
def test_hosts_variables_and_processes_are_held_to_the_manifest() -> None:
    check_host(MANIFEST, "get", "Crates.IO.")
    check_host(MANIFEST, "get", "a.example.org")
    check_variable(MANIFEST, "get", "CARGO_HOME")
    for refused, permission in (
        (lambda: check_host(MANIFEST, "get", "evilcrates.io"), "network"),
        (lambda: check_host(MANIFEST, "get", "index.crates.io"), "network"),
        (lambda: check_variable(MANIFEST, "get", "HOME"), "env_vars"),
        (lambda: check_process(MANIFEST, "get"), "shell"),
    ):
        with pytest.raises(PermissionDenied, match=f"does not grant {permission}"):
            refused()
