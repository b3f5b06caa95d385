"""Downloads: a file that the same line then runs, or the credentials that a cloud has for this machine."""

from collections.abc import Callable, Iterator

from clawft.policy.address import is_metadata
from clawft.policy.command.embedded_scripts import option_values
from clawft.policy.command.parsed_command import Command
from clawft.policy.command.place import place
from clawft.policy.command.written import written
from clawft.policy.url_rules import split

DOWNLOADERS = frozenset("curl wget fetch aria2c http https xh lynx links ftp tftp telnet nc ncat netcat socat".split())


def run_downloads(commands: list[Command], file_run: Callable[[Command], str]) -> Iterator[Command]:
    """For each command that runs a downloaded file, a shell fed by the download, as if one were piped to the other."""
    shell = [command for command in commands if not command.no_shell]
    saved = {place(name, command.folder): command for command in shell for name in _saved(command) if name}
    for command in shell if saved else ():
        name = file_run(command)
        source = saved.get(place(name, command.folder)) if name else None
        if source is not None and source is not command:
            yield Command(("sh", "-s", name), fed_by=(source,))


def asks_cloud(command: Command) -> bool:
    """Whether it asks the metadata service of a cloud, which gives out the credentials of this machine."""
    return command.name in DOWNLOADERS and any(map(_is_in_cloud, command.arguments))


def _is_in_cloud(word: str) -> bool:
    url = word.rpartition("=")[2] if word.startswith("--") else word
    parts = split(url if "//" in url else f"//{url}")
    return parts is not None and is_metadata(parts.host)


def _saved(command: Command) -> list[str]:
    if any(stage.name in DOWNLOADERS for stage in command.fed_by):
        return written(command)
    if command.name not in DOWNLOADERS:
        return []
    return [*written(command), *_named_by_address(command)]


def _named_by_address(command: Command) -> list[str]:
    """`curl -O` and a plain `wget` name the file like the last part of the address."""
    if command.name == "curl" and not command.has_flag("O", "--remote-name"):
        return []
    folder = next(option_values(command.words, "-P --directory-prefix --output-dir"), "")
    names = [word.partition("?")[0].rpartition("/")[2] for word in command.operands()]
    return [f"{folder}/{name}" if folder else name for name in names if name]
