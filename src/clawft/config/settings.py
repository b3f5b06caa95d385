"""`Settings`: what the program runs with, as one frozen struct built from files and options."""

from pathlib import Path
from typing import Literal

from msgspec import Struct

from clawft.catalog.names import NameForm
from clawft.catalog.surface import Surface
from clawft.config.places import DEFAULT_AGENT
from clawft.policy.command import CommandPolicy
from clawft.policy.delegation import DelegationConfig
from clawft.policy.grant import GrantRule
from clawft.policy.url import UrlPolicy


class Settings(Struct, frozen=True):
    """The settings. Defaults here and in `config.keys.KEYS` are the same; a test compares them."""

    home: Path
    workspace: Path
    agent: str = DEFAULT_AGENT
    names: NameForm = NameForm.PLAIN
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    surface: Surface = Surface()
    builtin: bool = True
    result_limit: int = 65_536
    resource_limit: int = 8 * 1024 * 1024
    redact: bool = False
    ask: Literal["untrusted", "all"] = "untrusted"
    """The servers whose tools wait for the person's approval."""
    approval_days: int = 0
    ask_after_untrusted: bool = False
    page_size: int = 2500
    audit: bool = True
    audit_values: bool = False
    audit_files: int = 10
    search_url: str = ""
    shell_sandbox: str = "auto"
    git_allow: tuple[str, ...] = ()
    git_hosts: tuple[str, ...] = ()
    git_local: bool = True
    git_variables: tuple[str, ...] = ()
    git_sandbox: str = "auto"
    cargo_hosts: tuple[str, ...] = ()
    cargo_sandbox: str = "auto"
    build_sandbox: str = "auto"
    ide_sandbox: str = "auto"
    command_policy: CommandPolicy = CommandPolicy()
    url_policy: UrlPolicy = UrlPolicy()
    delegation: DelegationConfig = DelegationConfig()
    max_body: int = 4 * 1024 * 1024
    rate: int = 0
    """Requests per second of one caller over HTTP; 0 means no limit."""
    instructions: str = ""
    question_seconds: int = 600
    """How long a question to the agent may wait for its answer."""
    max_connections: int = 20
    """Servers connected at a time."""
    list_seconds: int = 300
    """How long a server's lists count as fresh."""
    command_folders: tuple[str, ...] = ()
    """Folders that programs of servers may come from; empty means any."""
    auth_issuer: str = ""
    """The issuer whose tokens open the HTTP gateway, besides the token in its own file."""
    auth_audience: str = ""
    auth_jwks_url: str = ""
    auth_scopes: tuple[str, ...] = ()
    auth_groups: str = "groups"
    auth_grants: tuple[GrantRule, ...] = ()
    mcp_config: tuple[str, ...] = ()
    """Files or JSON texts that name servers, from the command line."""
    strict_servers: bool = False
    """Whether a server that does not start, or cannot be read, ends the program."""
