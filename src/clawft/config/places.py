"""Where files lie: everything of the user is in one home, `~/.clawft` or `$CLAWFT_HOME`."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from clawft.errors import ConfigUnreadable, InvalidConfig
from clawft.store.home import home

DEFAULT_AGENT = "default"
NARROWER = "--workspace DIR sets the folder they work in"

_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def home_folder() -> Path:
    """`$CLAWFT_HOME`, else `~/.clawft`, as an absolute path; it need not exist. Raises InvalidConfig for a file."""
    folder = home().absolute()
    if os.path.lexists(folder) and not folder.is_dir():
        raise InvalidConfig(
            f"{folder} is not a folder, so nothing can be stored there",
            hint="move it away, or export CLAWFT_HOME=/a/folder",
        )
    return spelled_in_text(folder)


def spelled_in_text(folder: Path) -> Path:
    """The folder. Raises InvalidConfig if its name is not valid text, which could stand in no message or file."""
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise InvalidConfig(f"the name of the folder {folder} is not UTF-8", hint="rename it") from None
    return folder


def expanded(path: str) -> Path:
    """The path with `~` and `~name` replaced by home folders; an unknown name stays as it is."""
    return Path(os.path.expanduser(path))  # a Path would raise


def told_if_wide(workspace: Path) -> str:
    """A warning if the workspace holds the person's home folder; else empty."""
    home = os.path.expanduser("~")
    if not os.path.isabs(home) or not Path(home).resolve().is_relative_to(workspace.resolve()):  # nobody may have one
        return ""
    return f"the workspace is {workspace.resolve()}: file tools can access your whole home folder, including your keys"


def user_file(home: Path) -> Path:
    """Settings for all agents of the user."""
    return home / "config.toml"


def agent_folder(home: Path, agent: str) -> Path:
    if not _AGENT.fullmatch(agent):
        raise InvalidConfig(
            f"{agent!r} cannot be the name of an agent",
            hint="1 to 64 of A-Z a-z 0-9 _ -, beginning with a letter or digit",
        )
    return home / "agents" / agent


def agent_file(home: Path, agent: str) -> Path:
    """Settings for one agent."""
    return agent_folder(home, agent) / "config.toml"


def agents_with_settings(home: Path) -> list[str]:
    try:
        names = sorted(os.listdir(home / "agents"))
    except OSError:
        return []
    return [name for name in names if (home / "agents" / name / "config.toml").is_file()]


def servers_folder(home: Path) -> Path:
    """One file for each server of the user."""
    return home / "mcp_servers"


def workspace_files(workspace: Path) -> tuple[Path, Path]:
    """The files of a workspace that name servers: our own file, and the one other programs share."""
    return workspace / ".clawft" / "mcp.toml", workspace / ".mcp.json"


def names_servers(home: Path, workspace: Path, agent: str) -> bool:
    """Whether any file could name a server: a quick check, so that most starts load nothing for them.

    Pipes, folders and links that lead nowhere count, too; reading them gives the error.
    """
    files = (user_file(home), agent_file(home, agent), *workspace_files(workspace))
    return any(map(os.path.lexists, (servers_folder(home), *files)))


def single_files(home: Path) -> list[Path]:
    """The files of the servers folder, sorted by name; none if it cannot be listed."""
    folder = servers_folder(home)
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".toml") and not name.startswith("."))
    except OSError:
        return []
    return [folder / name for name in names]


def unlisted(home: Path) -> ConfigUnreadable | None:
    """The error for a servers folder that is there and cannot be listed: its servers would seem to be gone."""
    folder = servers_folder(home)
    try:
        os.listdir(folder)
    except FileNotFoundError:
        why = "leads to a folder that is not there" if folder.is_symlink() else ""
    except NotADirectoryError:
        why = "is not a folder"
    except OSError as failed:
        why = f"cannot be read: {failed.strerror}"
    else:
        return None
    return ConfigUnreadable(f"{folder} {why}", hint="correct it, or move it away") if why else None


def stray_files(home: Path) -> list[Path]:
    """Files in that folder that are not read, except backups and hidden files, which nobody expects to be."""
    folder = servers_folder(home)
    try:
        names = sorted(name for name in os.listdir(folder) if not name.endswith((".toml", ".bak")))
    except OSError:
        return []
    return [folder / name for name in names if not name.startswith(".")]


def server_files(home: Path, workspace: Path, agent: str, given: Sequence[str] = ()) -> list[Path]:
    """All files about servers, whether they exist or not."""
    named = [expanded(text) for text in given if not is_json(text)]
    return [*single_files(home), user_file(home), *workspace_files(workspace), agent_file(home, agent), *named]


def is_missing(file: Path) -> bool:
    """Whether no file is there. Reading a link that leads nowhere gives the error."""
    return not file.is_file() and not file.is_symlink()


def is_json(given: str) -> bool:
    """Whether a value of `--mcp-config` is JSON itself and not a file."""
    return given.lstrip().startswith("{")


GIVEN = "--mcp-config"


def no_such_file(given: str) -> InvalidConfig:
    return InvalidConfig(f"{GIVEN}: there is no file {given}", hint="give a file, or JSON in quotes")


def reconnect_folder(home: Path) -> Path:
    """A file here, named like a server, asks every running weft to connect that server anew."""
    return home / "reconnect"


def running_folder(home: Path) -> Path:
    """The folder with a status socket of every serving weft."""
    return home / "running"


def offers_folder(home: Path) -> Path:
    """The folder where running wefts note the addresses at which they wait for logins."""
    return home / "logins"


def ask_to_reconnect(home: Path, name: str) -> None:
    """Touch a file that makes every running weft reconnect the server."""
    from clawft.store.private_files import private_dir, write_private  # only where something is written

    write_private(private_dir(reconnect_folder(home)) / name, b"")


def audit_file(home: Path) -> Path:
    return home / "audit" / "audit.jsonl"
