"""Where crates go, and with which token: decided without cargo."""

from pathlib import Path

import pytest

from clawft.builtin.cargo.family import MANIFEST, CargoRequest, CargoSettings
from clawft.builtin.cargo.publish import prepare
from clawft.builtin.cargo.registry import CrateRegistry, find_registry, token_of
from clawft.errors import ClawftError, ExecutionFailed, PermissionDenied
from clawft.provider.manifest import Manifest
from tests.requirements import requirement

LOCAL = CrateRegistry("my-own", "sparse+http://127.0.0.1:9/index/")
CONFIG = f'[registries.my-own]\nindex = "{LOCAL.index}"\n'
SECRET = "t0k3n-of-mine"


@pytest.fixture
def cargo_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cargo"
    folder.mkdir()
    (folder / "config.toml").write_text(CONFIG)
    monkeypatch.setenv("CARGO_HOME", str(folder))
    return folder


@requirement("PLUG-04")
def test_crates_io_and_what_the_user_named(cargo_home: Path) -> None:
    assert (
        find_registry(None, cargo_home, MANIFEST) == find_registry("crates-io", cargo_home, MANIFEST) == CrateRegistry()
    )
    assert find_registry("my-own", cargo_home, MANIFEST) == LOCAL
    (cargo_home / "config.toml").rename(cargo_home / "config")
    assert find_registry("my-own", cargo_home, MANIFEST) == LOCAL


@requirement("PLUG-04")
def test_any_other_registry_is_refused(cargo_home: Path) -> None:
    with pytest.raises(PermissionDenied, match="does not name the registry 'evil'"):
        find_registry("evil", cargo_home, MANIFEST)
    for name in ("--index=x", "a b", "", "x" * 100):
        with pytest.raises(ExecutionFailed, match="invalid params: registry is no name"):
            find_registry(name, cargo_home, MANIFEST)
    with pytest.raises(PermissionDenied, match="does not grant network"):
        find_registry(None, cargo_home, Manifest(id="x", name="x"))
    (cargo_home / "config.toml").write_text("registries = 3")
    with pytest.raises(PermissionDenied):
        find_registry("my-own", cargo_home, MANIFEST)
    (cargo_home / "config.toml").write_text("registries = ")
    with pytest.raises(ExecutionFailed, match=r"config\.toml cannot be read"):
        find_registry("my-own", cargo_home, MANIFEST)


@requirement("CARGO-10")
def test_a_token_is_the_one_meant_for_its_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARGO_REGISTRY_TOKEN", SECRET)
    monkeypatch.setenv("CARGO_REGISTRIES_MY_OWN_TOKEN", "other")
    assert token_of("secret://env/CARGO_REGISTRY_TOKEN", CrateRegistry()) == SECRET
    assert token_of("secret://env/CARGO_REGISTRIES_MY_OWN_TOKEN", LOCAL) == "other"


@requirement("PLUG-04")
@pytest.mark.parametrize(
    "reference",
    [
        "secret://env/CARGO_REGISTRY_TOKEN",
        "secret://env/AWS_SECRET_ACCESS_KEY",
        "secret://file/etc/passwd",
        "secret://command/touch started",
        "secret://keyring/bank/me",
    ],
)
def test_no_other_secret_can_be_sent_there(reference: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CARGO_REGISTRY_TOKEN", SECRET)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with pytest.raises(PermissionDenied, match="not meant for the registry 'my-own'") as refused:
        token_of(reference, LOCAL)
    assert SECRET not in str(refused.value)
    assert not (tmp_path / "started").exists()


@requirement("PLUG-04")
def test_a_token_itself_is_refused_and_not_repeated() -> None:
    with pytest.raises(ExecutionFailed, match="never the token itself") as refused:
        token_of(SECRET, CrateRegistry())
    assert SECRET not in str(refused.value)


@requirement("CARGO-08")
def test_a_token_that_is_not_there_or_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CARGO_REGISTRY_TOKEN", raising=False)
    with pytest.raises(ClawftError, match="is not there"):
        token_of("secret://env/CARGO_REGISTRY_TOKEN", CrateRegistry())
    for odd in ("", "two\nlines"):
        monkeypatch.setenv("CARGO_REGISTRY_TOKEN", odd)
        with pytest.raises(ExecutionFailed, match="no token has"):
            token_of("secret://env/CARGO_REGISTRY_TOKEN", CrateRegistry())


@requirement("CARGO-10")
def test_a_rehearsal_knows_no_token_and_both_name_the_registry(
    cargo_home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARGO_REGISTRIES_MY_OWN_TOKEN", SECRET)
    asked, reference = CargoRequest(".", 10, CargoSettings()), "secret://env/CARGO_REGISTRIES_MY_OWN_TOKEN"
    told = prepare(asked, workspace, True, "my-own", reference)
    env = {"CARGO_REGISTRIES_MY_OWN_INDEX": LOCAL.index}
    assert told == CargoRequest(".", 10, CargoSettings(), ("--registry", "my-own", "--dry-run"), env)
    told = prepare(asked, workspace, False, "my-own", reference)
    assert (told.more, told.publishes) == (("--registry", "my-own"), True)
    assert told.secret == told.env["CARGO_REGISTRIES_MY_OWN_TOKEN"] == SECRET
    assert prepare(asked, workspace, False, None, None).more == ("--registry", "crates-io")
