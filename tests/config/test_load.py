"""Settings from files and options, each value with its source."""

import os
from pathlib import Path
from typing import Any

import pytest

from clawft.catalog.names import NameForm
from clawft.config.keys import BY_NAME, KEYS
from clawft.config.load import COMMAND_LINE, LoadedSettings, SourceLine, load, problems, read_bytes
from clawft.config.settings import Settings
from clawft.errors import ConfigUnreadable, InvalidConfig
from clawft.policy.grant import GrantRule
from tests.requirements import requirement


@pytest.fixture
def write(home: Path) -> Any:
    """Write the user's file, or an agent's."""

    def write(text: str, agent: str = "") -> Path:
        path = home / "agents" / agent / "config.toml" if agent else home / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def loaded(home: Path, workspace: Path, agent: str = "default", **overrides: Any) -> LoadedSettings:
    return load(home, workspace, agent, {name.replace("_", ".", 1): value for name, value in overrides.items()})


@requirement("CONF-11", "S3-E01")
def test_no_files_and_no_home_are_the_defaults(tmp_path: Path, workspace: Path) -> None:
    found = load(tmp_path / "nowhere", workspace, "default")
    assert found.settings == Settings(tmp_path / "nowhere", workspace.resolve())
    assert found.origins == {}


@requirement("GUARD-14")
def test_the_table_of_keys_and_the_settings_have_the_same_defaults(home: Path, workspace: Path) -> None:
    settings = Settings(home, workspace)
    for key in KEYS:
        value: Any = settings
        for field in key.field.split("."):
            value = getattr(value, field)
        assert value == key.default, key.name
        assert key.read(key.default.value if isinstance(key.default, NameForm) else list_of(key.default)) == key.default
        assert key.doc.endswith(".")


def list_of(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  # as TOML has it


@requirement("GUARD-14", "CONF-22")
def test_every_key_can_be_set_in_a_file_and_remembers_its_line(home: Path, workspace: Path, write: Any) -> None:
    path = write(
        """[tools]
allow = ["file__*"]
deny = ["*write"]
names = "claude"
builtin = false
surface = "auto"
surface_tokens = 9
pinned = ["git__*"]
[security]
command_folders = ["/usr/bin"]
[security.command_policy]
allow = ["privilege"]
deny = ["git push*"]
[security.url_policy]
schemes = ["https"]
allow_hosts = ["intranet"]
allow_networks = ["10.0.0.0/8"]
deny_hosts = ["*.bad"]
[result]
limit = 100
resource_limit = 200
redact = true
[approvals]
ask = "all"
days = 30
after_untrusted = true
[pool]
max_connections = 3
list_seconds = 0
[audit]
enabled = false
values = true
files = 3
[shell]
sandbox = "strict"
[web]
search_url = "http://127.0.0.1:8080/search"
[git]
allow = ["push"]
hosts = ["git.example.org"]
local = false
variables = ["SSH_AUTH_SOCK"]
sandbox = "require"
[cargo]
hosts = ["crates.example"]
sandbox = "off"
[build]
sandbox = "strict"
[ide]
sandbox = "off"
[gateway]
page_size = 5
question_seconds = 30
rate = 20
max_body = 2048
instructions = "be kind"
[gateway.auth]
issuer = "https://login.example"
audience = "https://weft.example/mcp"
jwks_url = "https://login.example/keys"
scopes = ["mcp"]
groups = "roles"
grants = [{ group = "dev", allow = ["git__*"] }]
[mcp_servers.github]
anything = true
[delegation]
claude_enabled = true
claude_model = "opus"
claude_url = "http://127.0.0.1:1"
claude_key = "secret://env/KEY"
openai_enabled = true
openai_model = "local"
openai_url = "http://127.0.0.1:1/v1"
openai_key = ""
claude_flow_enabled = true
claude_flow_server = "flow"
rules = [{ pattern = "x", target = "auto" }]
excluded_tools = ["shell__*"]
max_turns = 3
max_tokens = 100
max_total_tokens = 1000
max_cost_usd = 0.5
max_seconds = 10
tool_seconds = 5
max_parallel = 2
max_depth = 2
tool_tokens = 3000
prices = { local = { input = 0, output = 0 } }
"""
    )
    found = load(home, workspace, "default")
    settings = found.settings
    assert (settings.allow, settings.deny, settings.names) == (("file__*",), ("*write",), NameForm.CLAUDE)
    assert (settings.builtin, settings.result_limit, settings.audit, settings.audit_values) == (False, 100, False, True)
    assert settings.resource_limit == 200
    assert (settings.redact, settings.ask, settings.approval_days) == (True, "all", 30)
    assert settings.ask_after_untrusted is True
    assert settings.command_folders == ("/usr/bin",)
    assert (settings.max_connections, settings.list_seconds) == (3, 0)
    assert (settings.git_allow, settings.git_hosts, settings.git_local) == (("push",), ("git.example.org",), False)
    assert settings.git_variables == ("SSH_AUTH_SOCK",)
    assert (settings.shell_sandbox, settings.git_sandbox) == ("strict", "require")
    assert (settings.cargo_hosts, settings.cargo_sandbox) == (("crates.example",), "off")
    assert (settings.build_sandbox, settings.ide_sandbox) == ("strict", "off")
    assert settings.command_policy.deny == ("git push*",)
    assert settings.url_policy.allow_networks == ("10.0.0.0/8",)
    assert (settings.page_size, settings.max_body, settings.instructions) == (5, 2048, "be kind")
    assert (settings.question_seconds, settings.rate) == (30, 20)
    assert settings.auth_grants == (GrantRule(group="dev", allow=("git__*",)),)
    assert (settings.auth_issuer, settings.auth_groups) == ("https://login.example", "roles")
    assert found.origins.keys() == BY_NAME.keys()
    assert found.origins["result.limit"] == (SourceLine(str(path), 20),)


@requirement("CONF-07", "CONF-22")
def test_the_agent_wins_over_the_user_and_the_command_line_over_both(home: Path, workspace: Path, write: Any) -> None:
    write('[result]\nlimit = 1000\n[tools]\nallow = ["a"]\nnames = "mcp"')
    agents = write('[result]\nlimit = 2000\n[tools]\nallow = ["b"]', "coder")
    found = loaded(home, workspace, "coder", tools_allow=["c"])
    assert (found.settings.result_limit, found.settings.allow) == (2000, ("c",))
    assert found.origins["result.limit"] == (SourceLine(str(agents), 2),)
    assert found.origins["tools.allow"] == (SourceLine(COMMAND_LINE),)
    assert loaded(home, workspace, "other").settings.result_limit == 1000


@requirement("GUARD-14")
def test_a_refusal_is_not_lost_because_a_later_place_has_one_too(home: Path, workspace: Path, write: Any) -> None:
    users = write('[tools]\ndeny = ["shell__*"]')
    agents = write('[tools]\ndeny = ["web__*", "shell__*"]', "default")
    found = loaded(home, workspace, tools_deny=["git__*"])
    assert found.settings.deny == ("shell__*", "web__*", "git__*")
    assert found.origins["tools.deny"] == (
        SourceLine(str(users), 2),
        SourceLine(str(agents), 2),
        SourceLine(COMMAND_LINE),
    )


@requirement("CONF-13")
@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("[tools]\nalow = []", 2, "unknown key 'tools.alow', did you mean 'tools.allow'?"),
        ("\n[tool]\nallow = []", 3, "unknown key 'tool.allow', did you mean 'tools.allow'?"),
        ("[mcp_server]", 1, "unknown key 'mcp_server', did you mean 'mcp_servers'?"),
        ("[security]\ncomand_policy = { allow = [] }", 2, "did you mean 'security.command_policy.allow'?"),
        ('[servers.a]\nurl = "x"', 2, "unknown key 'servers.a.url', did you mean 'mcp_servers'?"),
        (
            '[gateway.auth]\ngrants = [{ group = "dev", alow = ["*"] }]',
            2,
            "gateway.auth.grants has an unknown key 'alow', did you mean 'allow'?",
        ),
        ("# hi\nzzzzzz = 1", 2, "unknown key 'zzzzzz'"),
        ("tools = 3", 1, "tools must be a table"),
        ('[tools]\n\nallow = "x"', 3, "tools.allow must be a list of globs"),
        ("[tools]\nallow = [1]", 2, "tools.allow must be a list of globs"),
        ('[result]\nlimit = "much"', 2, "result.limit must be 1 to 67108864 bytes, not 'much'"),
        ("[result]\nlimit = 0", 2, "result.limit must be"),
        ("[result]\nlimit = true", 2, "result.limit must be"),
        ("[audit]\nenabled = 1", 2, "audit.enabled must be true or false, not 1"),
        ('[tools]\nnames = "fancy"', 2, "tools.names must be plain, mcp, claude or bare"),
        ('[web]\nsearch_url = "searx.local"', 2, "web.search_url must begin with http"),
        (
            '[gateway.auth]\nissuer = "http://login.example"',
            2,
            "gateway.auth.issuer must begin with https://: what comes",
        ),
        ('[gateway.auth]\nissuer = "http://127.0.0.1.example"', 2, "gateway.auth.issuer must begin with https://"),
        ('[gateway.auth]\nissuer = "http://[127.0.0.1"', 2, "gateway.auth.issuer must begin with https://"),
        ('[gateway.auth]\njwks_url = "http://10.0.0.1/keys"', 2, "gateway.auth.jwks_url must begin with https://"),
        (
            '[security.command_policy]\nallow = ["privilige"]',
            2,
            "names an unknown rule: 'privilige', did you mean 'privilege'?",
        ),
        ('[security.url_policy]\nallow_networks = ["10.0.0.1/8"]', 2, "contains an invalid network: 10.0.0.1/8"),
        ("[gateway]\ninstructions = 2025-01-01", 2, "gateway.instructions must be a text"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(
    home: Path, workspace: Path, write: Any, text: str, line: int, said: str
) -> None:
    path = write(text)
    with pytest.raises(InvalidConfig) as wrong:
        load(home, workspace, "default")
    assert wrong.value.message.startswith(f"{path}:{line}: ")
    assert said in wrong.value.message
    assert wrong.value.hint
    assert [one.message for one in problems(home, "default")] == [wrong.value.message]


@requirement("CONF-13", "CONF-22")
@pytest.mark.parametrize(
    "issuer", ["https://login.example", "http://127.0.0.1:9000", "http://localhost:9000/realm", ""]
)
def test_an_issuer_may_be_anywhere_over_https_and_on_this_machine_without(
    home: Path, workspace: Path, write: Any, issuer: str
) -> None:
    write(f'[gateway.auth]\nissuer = "{issuer}"\njwks_url = "{issuer}"')
    assert load(home, workspace, "default").settings.auth_issuer == issuer


@requirement("CONF-13")
def test_a_check_finds_everything_in_all_files(home: Path, write: Any) -> None:
    write("[tools]\nalow = []\n[result]\nlimit = 0")
    write("a = = 1", "default")
    assert len(problems(home, "default")) == 3


@requirement("CONF-12")
def test_a_file_that_cannot_be_read_says_why(home: Path, workspace: Path) -> None:
    (home / "config.toml").mkdir()
    with pytest.raises(ConfigUnreadable, match=r"config\.toml cannot be read: Is a directory"):
        load(home, workspace, "default")


@requirement("CONF-12")
def test_a_file_without_end_is_not_read(home: Path, workspace: Path) -> None:
    os.symlink("/dev/zero", home / "config.toml")
    with pytest.raises(ConfigUnreadable, match="is larger than"):
        load(home, workspace, "default")


@requirement("CONF-12")
def test_a_link_to_a_file_that_is_gone_loses_no_rule_in_silence(home: Path, workspace: Path) -> None:
    (home / "config.toml").symlink_to(home / "dotfiles" / "config.toml")
    with pytest.raises(ConfigUnreadable, match=r"config\.toml is a link to a file that does not exist"):
        load(home, workspace, "default")
    (found,) = problems(home, "default")
    assert found.hint == "correct the link, or remove it"


@requirement("CONF-12", "QUAL-12")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".mcp.json")
    with pytest.raises(ConfigUnreadable, match="is a pipe"):
        read_bytes(tmp_path / ".mcp.json")


@requirement("CONF-15")
@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_file_that_everybody_can_change_decides_nothing(home: Path, workspace: Path, write: Any) -> None:
    write('[security.url_policy]\nallow_hosts = ["*"]\n').chmod(0o666)
    with pytest.raises(InvalidConfig, match="can be changed by every user, so weft does not start with it"):
        load(home, workspace, "default")
    assert [str(wrong.hint) for wrong in problems(home, "default")] == [f"chmod go-w {home / 'config.toml'}"]


def test_a_file_of_the_workspace_has_no_say(home: Path, workspace: Path) -> None:
    for name in (".clawft/mcp.toml", ".clawft/config.toml", "config.toml"):
        path = workspace / name
        path.parent.mkdir(exist_ok=True)
        path.write_text('[security.command_policy]\nallow = ["destroy-root"]\n')
    assert load(home, workspace, "default").settings.command_policy.allow == ()


@requirement("CONF-23")
@pytest.mark.parametrize("agent", ["../x", "", "a/b", ".hidden", "a" * 65, "x\0"])
def test_an_agent_is_a_plain_name(home: Path, workspace: Path, agent: str) -> None:
    with pytest.raises(InvalidConfig, match="cannot be the name of an agent"):
        load(home, workspace, agent)


@requirement("CONF-23")
def test_a_workspace_must_be_a_folder(home: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="is not a folder"):
        load(home, tmp_path / "missing", "default")
