"""Logins encrypted with a key in the keyring: the real command, the real `keyring` package, a backend in a file."""

import json
import shutil
from pathlib import Path

import pytest

from clawft.auth import encryption
from clawft.auth.tokens import Login, OAuthClient, TokenSet
from clawft.auth.vault import Vault, kept_secret, store_secret
from clawft.errors import InvalidConfig
from clawft.store.secrets import resolve
from tests.auth.logins import expire, logged_in, weft_says
from tests.requirements import requirement
from tests.servers.chest import BACKEND
from tests.servers.idp import CLIENT_SECRET, idp
from tests.servers.weft import ROOT

pytestmark = [pytest.mark.timeout(300), requirement("OAUTH-05")]

CANARY = "canary-refresh-token-2b1d"
TOKEN = TokenSet("canary-access-token-88aa", refresh_token=CANARY, provider_name="mine")


@pytest.fixture(autouse=True)
def chest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ours and that of the commands we start."""
    file = tmp_path / "chest.json"
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", BACKEND)
    monkeypatch.setenv("CHEST", str(file))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr("clawft.auth.encryption._keys", {})
    import keyring.core

    keyring.core.init_backend()
    return file


def on_disk(home: Path) -> str:
    files = [path for path in home.rglob("*") if path.is_file()]
    return "".join(path.read_bytes().decode(errors="replace") for path in files)


@pytest.mark.slow
async def test_from_files_to_the_keyring_and_back(home: Path, vault: Vault) -> None:
    secret = kept_secret(vault, CLIENT_SECRET)
    vault.write("mine", Login(TOKEN, client=OAuthClient("me", secret, "client_secret_post")))
    vault.servers.write("linear", Login(TOKEN, account="x"))
    person = Vault(vault.folder / "people" / "p")
    person.write("mine", Login(TOKEN))
    assert await weft_says(home, "auth", "store") == (0, "file\n")
    assert CANARY in on_disk(home)

    code, said = await weft_says(home, "auth", "store", "keyring")
    assert (code, said) == (0, "logins are encrypted with a key in the keyring now: 3 of them rewritten\n")
    assert await weft_says(home, "auth", "store") == (0, "keyring\n")
    assert not any(word in on_disk(home) for word in (CANARY, TOKEN.access_token, CLIENT_SECRET))
    login = vault.read("mine")[0]
    assert (login.tokens, resolve(login.client.secret)) == (TOKEN, CLIENT_SECRET)
    assert (vault.servers.read("linear")[0].tokens, person.read("mine")[0].tokens) == (TOKEN, TOKEN)
    code, said = await weft_says(home, "auth", "status", "--json")
    assert {row["name"] for row in json.loads(said)["logins"]} == {"mine", "linear"}

    vault.write("later", Login(TOKEN))
    assert CANARY not in on_disk(home)

    code, said = await weft_says(home, "auth", "store", "file")
    assert (code, said) == (0, "logins are private files now: 4 of them rewritten\n")
    assert CANARY in on_disk(home)
    assert resolve(vault.read("mine")[0].client.secret) == CLIENT_SECRET


@pytest.mark.slow
async def test_a_secret_that_looks_like_a_reference_is_moved_and_not_followed(home: Path, vault: Vault) -> None:
    """Whoever registered us may have written it."""
    given = f"secret://command/touch {home / 'mark'}"
    vault.write("mine", Login(TOKEN, client=OAuthClient("me", store_secret(vault, given), "client_secret_post")))
    for form in ("keyring", "file", "keyring"):
        assert (await weft_says(home, "auth", "store", form))[0] == 0
        assert resolve(vault.read("mine")[0].client.secret) == given
    assert not (home / "mark").exists()


@pytest.mark.slow
@requirement("OAUTH-22")
async def test_a_logout_takes_the_secret_of_the_client_out_of_the_keyring_and_nothing_else(
    home: Path, vault: Vault, chest: Path
) -> None:
    assert (await weft_says(home, "auth", "store", "keyring"))[0] == 0
    before = chest.read_text()
    vault.write(
        "mine", Login(TOKEN, client=OAuthClient("me", store_secret(vault, CLIENT_SECRET), "client_secret_post"))
    )
    vault.write("own", Login(TOKEN, client=OAuthClient("me", f"secret://keyring/clawft/{encryption.KEY_NAME}")))
    assert CLIENT_SECRET in chest.read_text()
    for name in ("mine", "own"):
        assert await weft_says(home, "auth", "logout", name) == (0, f"logged out: {name}\n")
    assert chest.read_text() == before


@pytest.mark.slow
@requirement("OAUTH-11")
async def test_a_sealed_login_is_renewed_and_stays_sealed(home: Path, vault: Vault) -> None:
    provider = idp()
    await logged_in(provider, vault)
    assert (await weft_says(home, "auth", "store", "keyring"))[0] == 0
    before = expire(vault)
    code, said = await weft_says(home, "auth", "refresh", "mine")
    assert (code, said) == (0, "renewed: mine\n")
    after = vault.read("mine")[0]
    assert after.tokens.refresh_token != before.tokens.refresh_token
    assert provider.given("refresh_token") == 1
    for token in (after.tokens.access_token, after.tokens.refresh_token or "-", before.tokens.refresh_token or "-"):
        assert token not in on_disk(home)


async def test_without_a_keyring_nothing_is_changed_and_it_is_said_why(
    home: Path, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("mine", Login(TOKEN))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    code, said = await weft_says(home, "auth", "store", "keyring")
    assert code == 1
    assert "the keyring of this machine cannot be used: NoKeyringError" in said
    assert "weft auth store file" in said
    assert (await weft_says(home, "auth", "store"))[1] == "file\n"
    assert vault.read("mine")[0].tokens == TOKEN


async def test_a_locked_keyring_is_told_and_what_it_says_is_not(
    home: Path, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write("mine", Login(TOKEN))
    await weft_says(home, "auth", "store", "keyring")
    monkeypatch.setenv("CHEST_LOCKED", "1")
    code, said = await weft_says(home, "auth", "status")
    assert (code, "KeyringLocked" in said, "canary" in said) == (1, True, False)


@pytest.mark.slow
async def test_a_key_that_is_gone_or_another_is_told(home: Path, vault: Vault, chest: Path) -> None:
    vault.write("mine", Login(TOKEN))
    await weft_says(home, "auth", "store", "keyring")
    chest.unlink()
    code, said = await weft_says(home, "auth", "status")
    assert (code, "their key is not in the keyring" in said) == (1, True)
    encryption.make_key()
    code, said = await weft_says(home, "auth", "status")
    assert (code, "sealed with another key" in said) == (1, True)
    assert await weft_says(home, "auth", "logout", "mine") == (0, "logged out: mine\n")
    assert json.loads((await weft_says(home, "auth", "status", "--json"))[1]) == {"logins": []}


async def test_a_sealed_login_cannot_be_put_in_anothers_place(home: Path, vault: Vault) -> None:
    vault.write("mine", Login(TOKEN))
    await weft_says(home, "auth", "store", "keyring")
    shutil.copy(vault.path("mine"), vault.path("yours"))
    code, said = await weft_says(home, "auth", "status", "yours")
    assert (code, "sealed with another key than the keyring has, or is damaged" in said) == (1, True)


@requirement("CONF-14")
async def test_a_reference_to_the_keyring_is_resolved_and_a_locked_one_is_a_clear_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encryption.keep("github", CANARY)
    assert resolve("secret://keyring/clawft/github") == CANARY
    with pytest.raises(InvalidConfig, match="secret://keyring/clawft/nothing is not there"):
        resolve("secret://keyring/clawft/nothing")
    monkeypatch.setenv("CHEST_LOCKED", "1")
    with pytest.raises(InvalidConfig, match="cannot be read") as refused:
        resolve("secret://keyring/clawft/github")
    assert "canary" not in str(refused.value)
