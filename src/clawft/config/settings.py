"""What the program runs with: one frozen struct, whatever files and options it was put together from."""

from pathlib import Path

from msgspec import Struct

from clawft.catalog.names import Form
from clawft.config.places import DEFAULT_AGENT
from clawft.policy.command import CommandPolicy
from clawft.policy.url import UrlPolicy


class Settings(Struct, frozen=True):
    """Defaults here and in `config.keys.KEYS` are the same; a test holds them together."""

    home: Path
    workspace: Path
    agent: str = DEFAULT_AGENT
    names: Form = Form.PLAIN
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    builtin: bool = True
    result_limit: int = 65_536
    page_size: int = 2500
    audit: bool = True
    audit_values: bool = False
    search_url: str = ""
    git_allow: tuple[str, ...] = ()
    git_hosts: tuple[str, ...] = ()
    git_local: bool = True
    git_variables: tuple[str, ...] = ()
    command_policy: CommandPolicy = CommandPolicy()
    url_policy: UrlPolicy = UrlPolicy()
    max_body: int = 4 * 1024 * 1024
    instructions: str = ""
    question_seconds: int = 600
    """How long a question to the agent may wait for its answer."""
    command_folders: tuple[str, ...] = ()
    """Where programs of servers may come from; empty means anywhere."""
    mcp_config: tuple[str, ...] = ()
    """Files or JSON texts that name servers, from the command line."""
    strict_servers: bool = False
    """A server that does not start, or cannot be read, ends the program."""
