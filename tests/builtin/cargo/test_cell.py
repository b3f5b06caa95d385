"""Cargo stays in a cell, with the build scripts and tests it starts."""

import os
from pathlib import Path

import msgspec
import pytest

from clawft.builtin import families
from clawft.builtin.cargo import cell
from clawft.builtin.cargo.cell import hosts, rules
from clawft.builtin.cargo.family import CargoSettings
from clawft.builtin.cells import cell_for
from clawft.errors import ExecutionFailed
from clawft.provider.function import FunctionProvider
from clawft.sandbox.probe import Means
from clawft.store.memory import MemoryStore
from tests.builtin.build.trusting import Listener, call_as
from tests.builtin.cargo.crates import crate, needs_cargo
from tests.builtin.escaping import EVERYTHING, escaping, needs_bubblewrap
from tests.requirements import requirement

BUILD = r"""
use std::{fs::OpenOptions, process::Command};
fn main() {
    println!("cargo:rerun-if-changed=never");
    assert!(Command::new("PROGRAM").arg("SCRIPT").status().unwrap().success());
    let home = std::env::var("CARGO_HOME").unwrap();
    let decides = OpenOptions::new().append(true).create(true).open(format!("{home}/config.toml")).is_ok();
    let token = std::fs::read_to_string(format!("{home}/credentials.toml")).unwrap_or_default();
    std::fs::write("WORKSPACE/cargo", format!("{decides} {}", token.contains("token"))).unwrap();
}
"""


def provider(workspace: Path, settings: CargoSettings) -> FunctionProvider:
    told = {"cargo": settings}
    (found,) = families(workspace, lambda agent, name: MemoryStore(), settings=told, only=["cargo"])
    assert isinstance(found, FunctionProvider)
    return found


@requirement("PLUG-04", "CARGO-10")
@pytest.mark.slow
@needs_cargo
@needs_bubblewrap
async def test_a_build_script_gets_nothing_but_the_workspace(
    trusting: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUSTUP_HOME", os.environ.get("RUSTUP_HOME") or str(Path.home() / ".rustup"))
    home = tmp_path / "cargo"
    home.mkdir()
    (home / "credentials.toml").write_text('token = "x"')
    monkeypatch.setenv("CARGO_HOME", str(home))
    with escaping(trusting, monkeypatch) as escape:
        program, script = escape.command
        source = BUILD.replace("PROGRAM", program).replace("SCRIPT", script).replace("WORKSPACE", str(trusting))
        crate(trusting / "c", "c", library="\n", build=source)
        for settings, expected, told in (
            (CargoSettings(), {"workspace"}, "false false"),
            (CargoSettings(hosts=("*",)), {"workspace", "network"}, "false false"),
            (CargoSettings(sandbox="off"), EVERYTHING, "true true"),
        ):
            done = await call_as(Listener(), provider(trusting, settings), "check", working_dir="c")
            assert done.structured_content["success"], done.structured_content["stderr"]
            assert escape.got() == expected, settings
            assert (trusting / "cargo").read_text() == told, settings


@requirement("PLUG-04", "CARGO-08")
@needs_cargo
async def test_where_nothing_can_hold_it_a_required_cell_refuses(
    trusting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_means(*args: object, **words: object) -> object:
        found = cell_for(*args, **words)  # pyright: ignore[reportArgumentType] - passed on as they came
        return msgspec.structs.replace(found, means=Means(reason="there is nothing"))

    monkeypatch.setattr(cell, "cell_for", without_means)
    crate(trusting / "c", "c", library="\n")
    with pytest.raises(ExecutionFailed, match="failed to execute cargo: its required sandbox is not available"):
        await call_as(Listener(), provider(trusting, CargoSettings("require")), "check", working_dir="c")


@requirement("PLUG-03", "PLUG-04")
def test_hosts_are_those_of_the_manifest_and_of_the_users_registries() -> None:
    config = {
        "registries": {"mine": {"index": "sparse+https://crates.example:8443/index/"}, "odd": "text", "none": {}},
        "source": {"mirror": {"registry": "https://user@mirror.example/git"}},
    }
    known = ("crates.io", "index.crates.io", "static.crates.io")
    assert hosts({}) == known
    assert hosts(config) == (*known, "crates.example:8443", "mirror.example")
    assert hosts({"registries": [], "source": 3}) == known


@requirement("PLUG-04")
def test_credentials_are_seen_by_those_who_publish_only() -> None:
    builds = {rule.path: rule.access for rule in rules(Path("/c"), "/r", publishes=False)}
    publishes = {rule.path: rule.access for rule in rules(Path("/c"), "/r", publishes=True)}
    assert (builds["/c/credentials.toml"], publishes["/c/credentials.toml"]) == ("hide", "read")
    assert (builds["/c"], builds["/c/registry"]) == ("read", "write")
