"""Whether a command changes what runs later, or who may log in. Pure.

To add a program: its name in a set, or a row in `PERSISTING_SUBCOMMANDS`.
"""

from clawft.policy.command.parsed_command import Command
from clawft.policy.command.place import is_startup
from clawft.policy.command.written import written

_ACCOUNTS = frozenset(
    "useradd adduser usermod userdel deluser groupadd addgroup groupmod gpasswd chpasswd newusers passwd chsh chfn"
    " visudo vipw vigr".split()
)
_ONLY_SHOWS: dict[str, tuple[str, ...]] = {
    "passwd": ("-S", "--status"),
    "chsh": ("-l", "--list-shells"),
    "visudo": ("-c",),
}
"""Options with which a program only shows something and changes nothing."""
_HELP_OPTIONS = ("--help", "--version")
PERSISTING_SUBCOMMANDS: dict[str, frozenset[str]] = {
    "systemctl": frozenset("enable reenable preset link edit add-wants add-requires set-default unmask".split()),
    "loginctl": frozenset({"enable-linger"}),
    "launchctl": frozenset("load bootstrap enable submit".split()),
    "rc-update": frozenset({"add"}),
}
"""First operands of these programs that make something run from now on."""
_QUEUE_ONLY = frozenset({"-l", "-r", "-d", "-c", "-V"})
_FSMONITOR = "core.fsmonitor"
_GIT_RUNS = frozenset({"core.hookspath", "init.templatedir", _FSMONITOR})
"""Settings that make git run a program in every repository."""
_OWN_DAEMON = frozenset({"true", "false"})
"""Values of `core.fsmonitor` with which git only runs its own daemon."""


def persists(command: Command) -> bool:
    name, options = command.name, command.options()
    match name:
        case "crontab":
            return not command.has_flag("lh") and len(command.words) > 1
        case "at":
            return len(command.words) > 1 and _QUEUE_ONLY.isdisjoint(options)
        case "batch":
            return not command.arguments and bool(command.reads or command.stdin or command.fed_by)
        case "git":
            return _configures_all(command)
        case _ if name in _ACCOUNTS:
            return not any(option in (*_HELP_OPTIONS, *_ONLY_SHOWS.get(name, ())) for option in options)
        case _ if name in PERSISTING_SUBCOMMANDS and "--user" not in options:
            return not PERSISTING_SUBCOMMANDS[name].isdisjoint(command.operands()[:1])
        case _:
            return any(is_startup(target, command.folder) for target in written(command))


def _configures_all(command: Command) -> bool:
    operands = [word for word in command.operands() if word != "set"]
    if "config" not in operands or {"--global", "--system"}.isdisjoint(command.options()):
        return False
    key, *values = [*operands[operands.index("config") + 1 :], ""][:2]
    key = key.lower()
    return key in _GIT_RUNS and any(values) and not (key == _FSMONITOR and values[0].lower() in _OWN_DAEMON)
