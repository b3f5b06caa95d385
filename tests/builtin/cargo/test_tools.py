"""The family as a caller sees it, and what is refused before cargo is started."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawft.builtin.cargo.arguments import MANIFEST_PATH
from clawft.builtin.cargo.family import DEFAULT_TIMEOUT_S, MANIFEST
from clawft.builtin.cargo.run import environment, with_manifest_inside
from clawft.errors import ExecutionFailed, PermissionDenied, ToolError
from clawft.provider.manifest import Manifest, Permissions
from tests.builtin.build.trusting import Listener, call_as, provider_of
from tests.requirements import requirement

NAMES = ["build", "test", "clippy", "check", "publish"]

TALKATIVE = """#!/bin/sh
i=0
while [ $i -lt 2000 ]; do
    echo "{\\"n\\": $i}"
    echo err $i >&2
    i=$((i+1))
done
exit 1
"""


@pytest.fixture
def fake(trusting: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cargo that says how it was started, and a crate: for what must be seen without a compiler."""
    folder = trusting / "bin"
    folder.mkdir()
    (folder / "cargo").write_text('#!/bin/sh\ntouch "$0.started"\nfor word; do echo "[$word]"; done\nenv >&2\npwd\n')
    (folder / "cargo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    (trusting / "Cargo.toml").write_text("[package]\n")
    return folder


async def call(workspace: Path, name: str, **arguments: Any) -> Any:
    return (await call_as(Listener(), provider_of("cargo", workspace), name, **arguments)).structured_content


@requirement("CARGO-01", "F2-A02")
def test_there_are_five_tools(workspace: Path) -> None:
    tools = provider_of("cargo", workspace).list_tools()
    assert [tool.name for tool in tools] == NAMES
    assert [tool.alias for tool in tools] == [f"cargo_{name}" for name in NAMES]
    assert [tool.annotations.destructive_hint for tool in tools] == [False, False, False, False, True]


@requirement("CARGO-02", "test_cargo_build_tool_schema", "CARGO-07")
def test_only_the_working_dir_is_required(workspace: Path) -> None:
    for tool in provider_of("cargo", workspace).list_tools():
        schema = msgspec.json.decode(tool.input_schema)
        assert schema["required"] == ["working_dir"]
        properties = schema["properties"]
        assert properties["profile"]["enum"] == ["debug", "release"]
        defaults = {name: properties[name].get("default") for name in properties}
        assert defaults.items() >= {"profile": "debug", "workspace": False, "extra_args": [], "features": []}.items()
        assert defaults["package"] is defaults["target"] is None
        assert defaults["timeout_s"] == DEFAULT_TIMEOUT_S == 300
        assert {"success", "exit_code", "stdout", "stderr"} <= set(msgspec.json.decode(tool.output_schema)["required"])


@requirement("PLUG-01", "PLUG-03")
def test_the_manifest_is_the_promised_one(workspace: Path) -> None:
    assert provider_of("cargo", workspace).manifest == Manifest(
        id="com.clawft.plugin-cargo",
        name="Cargo Build Integration",
        version="0.1.0",
        capabilities=("tool",),
        permissions=Permissions(
            filesystem=("$WORKSPACE", "$CARGO_HOME"),
            network=("crates.io", "index.crates.io"),
            env_vars=("CARGO_HOME", "RUSTUP_HOME", "RUSTFLAGS"),
            shell=True,
        ),
    )


@requirement("PLUG-09", "F2-A01")
def test_the_family_imports_little() -> None:
    heavy = ["aiohttp", "shutil", "secrets", "clawft.builtin.build.child", "clawft.builtin.build.tools"]
    code = f"import sys, clawft.builtin.cargo.tools; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


@requirement("CARGO-10", "PLUG-04")
def test_the_environment_is_what_the_manifest_grants() -> None:
    granted = {"PATH": "/p", "HOME": "/h", "CARGO_HOME": "/c", "RUSTUP_HOME": "/r", "RUSTFLAGS": "-g"}
    env = environment({**granted, "API_TOKEN": "x", "CARGO_REGISTRY_TOKEN": "x", "RUSTC_WRAPPER": "evil"})
    ours = {name for name in env if name.startswith("CARGO_TERM_")} | {"LANG", "RUST_BACKTRACE"}
    assert {name: env[name] for name in env.keys() - ours} == granted


@requirement("CARGO-04", "CARGO-10")
async def test_how_cargo_is_started(fake: Path, trusting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "very-secret")
    (trusting / "sub").mkdir()
    told = await call(trusting, "build", working_dir="sub", profile="release", package="a b", extra_args=["--locked"])
    words, where = told["stdout"].splitlines()[:-1], told["stdout"].splitlines()[-1]
    assert words == ["[build]", "[--release]", "[-p]", "[a b]", "[--message-format=json]", "[--locked]"]
    assert where == str((trusting / "sub").resolve())
    assert "very-secret" not in told["stderr"]
    assert told["success"]


@requirement("CARGO-08")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"package": "-x"}, "package cannot be '-x'"),
        ({"extra_args": ["--config", "x"]}, "'--config' is not allowed"),
        ({"package": "x" * 10_000_000}, "the bound is"),
        ({"working_dir": 5}, "'working_dir' must be str, got int"),
        ({"profile": "fast"}, "Invalid enum value 'fast'"),
        ({"extra": 1}, "unknown argument 'extra'"),
    ],
)
async def test_invalid_params_start_nothing(fake: Path, trusting: Path, arguments: Any, words: str) -> None:
    with pytest.raises(ExecutionFailed) as refused:
        await call(trusting, "build", **{"working_dir": ".", **arguments})
    assert refused.value.message.startswith("invalid params: ")
    assert words in refused.value.message
    assert len(str(refused.value)) < 1000
    assert not (fake / "cargo.started").exists()


@requirement("CARGO-08")
@pytest.mark.parametrize("path", ["", "--help", "a;b", "a\0b", "x" * 10_000_000, "Cargo.toml"])
async def test_a_folder_that_is_none_is_one_clear_error(fake: Path, trusting: Path, path: str) -> None:
    with pytest.raises(ToolError) as refused:
        await call(trusting, "build", working_dir=path)
    assert len(str(refused.value)) < 300
    assert not (fake / "cargo.started").exists()


@requirement("CARGO-02", "CARGO-08")
async def test_arguments_of_the_wrong_type_start_nothing(fake: Path, trusting: Path) -> None:
    for wrong in ({}, {"working_dir": ".", "profile": "bench"}, {"working_dir": ".", "workspac": True}):
        with pytest.raises(ExecutionFailed, match=r"^invalid params: build: "):
            await call(trusting, "build", **wrong)
    assert not (fake / "cargo.started").exists()


@requirement("CARGO-10", "PLUG-04")
async def test_nothing_is_built_outside_the_workspace(fake: Path, trusting: Path, tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").write_text("[package]\n")
    (trusting / "out").symlink_to(tmp_path)
    for path in ("..", "out", str(tmp_path), "/"):
        with pytest.raises(PermissionDenied, match="outside the workspace"):
            await call(trusting, "build", working_dir=path)
    for path in ("../Cargo.toml", "out/Cargo.toml", str(tmp_path / "Cargo.toml")):
        with pytest.raises(PermissionDenied, match="outside the workspace"):
            await call(trusting, "build", working_dir=".", extra_args=["--manifest-path", path])
    twice = ["--manifest-path", "Cargo.toml", "--manifest-path", str(tmp_path / "Cargo.toml")]
    with pytest.raises(ExecutionFailed, match="is given twice"):
        await call(trusting, "build", working_dir=".", extra_args=twice)
    (trusting / "Cargo.toml").unlink()
    with pytest.raises(ExecutionFailed, match=r"there is no Cargo\.toml in"):
        await call(trusting, "build", working_dir=".")
    with pytest.raises(ExecutionFailed, match="no such file"):
        await call(trusting, "build", working_dir="nope")
    assert not (fake / "cargo.started").exists()


@requirement("CARGO-10")
def test_a_manifest_inside_is_named_by_its_real_path(workspace: Path) -> None:
    (workspace / "sub").mkdir()
    (workspace / "sub" / "Cargo.toml").write_text("")
    real = workspace.resolve()
    argv, ruling = with_manifest_inside(["build", MANIFEST_PATH, "Cargo.toml"], real / "sub", workspace)
    assert argv == ["build", MANIFEST_PATH, str(real / "sub" / "Cargo.toml")]
    assert ruling == real / "sub"


@requirement("PLUG-04")
@pytest.mark.parametrize("rule", ["Cargo.toml", ".cargo/config.toml", ".cargo/config", "rust-toolchain.toml"])
async def test_a_file_above_has_to_be_trusted_too(fake: Path, trusting: Path, home: Path, rule: str) -> None:
    """It has a say in what is run: a trusted folder in a workspace that is not trusted as a whole."""
    (trusting / "Cargo.toml").unlink()
    inner = trusting / "a" / "inner"
    inner.mkdir(parents=True)
    (inner / "Cargo.toml").write_text("[package]\n")
    (home / "trusted").write_text(f"{inner.resolve()}\n")
    assert (await call(trusting, "build", working_dir="a/inner"))["success"]
    (trusting / "a" / rule).parent.mkdir(exist_ok=True)
    (trusting / "a" / rule).write_text("")
    (fake / "cargo.started").unlink()
    with pytest.raises(PermissionDenied, match=f"'{(trusting / 'a').resolve()}' is not trusted"):
        await call(trusting, "build", working_dir="a/inner")
    assert not (fake / "cargo.started").exists()


@requirement("PLUG-04")
async def test_a_manifest_elsewhere_has_to_be_trusted_too(fake: Path, trusting: Path, home: Path) -> None:
    (trusting / "Cargo.toml").unlink()
    for name in ("mine", "theirs"):
        (trusting / name).mkdir()
        (trusting / name / "Cargo.toml").write_text("[package]\n")
    (home / "trusted").write_text(f"{(trusting / 'mine').resolve()}\n")
    with pytest.raises(PermissionDenied, match="is not trusted"):
        await call(trusting, "build", working_dir="mine", extra_args=["--manifest-path", "../theirs/Cargo.toml"])
    assert not (fake / "cargo.started").exists()


@requirement("PLUG-04")
async def test_a_manifest_without_the_permission_refuses(
    fake: Path, trusting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = msgspec.structs.replace(MANIFEST, permissions=Permissions(filesystem=("/elsewhere",), shell=True))
    monkeypatch.setattr("clawft.builtin.cargo.run.MANIFEST", narrow)
    with pytest.raises(PermissionDenied, match="does not grant filesystem"):
        await call(trusting, "build", working_dir=".")
    monkeypatch.setattr("clawft.builtin.cargo.run.MANIFEST", Manifest(id="x", name="x"))
    with pytest.raises(PermissionDenied, match="does not grant shell"):
        await call(trusting, "build", working_dir=".")
    assert not (fake / "cargo.started").exists()


@requirement("PLUG-04")
@pytest.mark.parametrize("name", NAMES)
async def test_without_trust_no_tool_starts_cargo(fake: Path, trusting: Path, home: Path, name: str) -> None:
    (home / "trusted").unlink()
    with pytest.raises(PermissionDenied, match="is not trusted") as refused:
        await call(trusting, name, working_dir=".")
    assert str(home / "trusted") in refused.value.hint
    assert not (fake / "cargo.started").exists()


@requirement("CARGO-08")
async def test_a_cargo_that_is_not_there_is_an_error(
    fake: Path, trusting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(trusting))
    with pytest.raises(ExecutionFailed, match="failed to execute cargo: it is not on the PATH"):
        await call(trusting, "build", working_dir=".")


@requirement("CARGO-03")
async def test_much_output_is_cut_and_kept_in_a_log(fake: Path, trusting: Path) -> None:
    (fake / "cargo").write_text(TALKATIVE)
    told = await call(trusting, "check", working_dir=".")
    assert (told["success"], told["exit_code"]) == (False, 1)
    assert told["messages"][0] == {"n": 0}
    assert len(told["messages"]) < 2000
    assert told["stderr"].endswith("err 1999\n")
    assert told["log"] in told["note"]
    log = (trusting / told["log"]).read_text()
    assert '{"n": 1999}' in log
    assert "err 0\n" in log
