"""Whether a command connects a shell of this machine to another machine. Pure."""

import re

from clawft.policy.command.embedded_scripts import option_values
from clawft.policy.command.parsed_command import Command
from clawft.policy.command.program import interpreter, is_opaque, runs_its_input
from clawft.policy.command.runners import SHELLS

_NETCATS = frozenset({"nc", "ncat", "netcat"})
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/.*")
_FAR = re.compile(r"(?:tcp|udp|sctp|ssl|openssl)[\w-]*:.*", re.IGNORECASE)
_STARTS = re.compile(r"(?:exec|system):[\"']?(.*)", re.IGNORECASE)


def opens_reverse_shell(command: Command) -> bool:
    if command.name in _NETCATS:
        started = option_values(command.words, "-e -c --exec --sh-exec")
        return any(map(_is_shell, started)) or any(map(_reads_commands, command.fed_by))
    if command.name == "socat":
        started = [found[1] for word in command.arguments if (found := _STARTS.match(word))]
        return any(map(_is_shell, started)) and any(map(_FAR.match, command.arguments))
    if _reads_commands(command):
        return any(map(_talks, (command, *command.fed_by)))
    return (is_opaque(command) or command.name == "eval") and _talks(command)  # `while read line; do $line; done`


def _talks(command: Command) -> bool:
    return any(map(_SOCKET.fullmatch, (*command.reads, *command.writes)))


def _reads_commands(command: Command) -> bool:
    return interpreter(command) in SHELLS and (command.has_flag("i") or runs_its_input(command))


def _is_shell(text: str) -> bool:
    program = re.split(r"[\s,]", text.strip(), maxsplit=1)[0]
    return program.rpartition("/")[2] in SHELLS
