"""The rules for command lines, each a pure function over one program run."""

import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from clawft.model import Allow, Ask, Deny, Verdict
from clawft.policy.command.download import DOWNLOADERS, asks_cloud
from clawft.policy.command.embedded_scripts import option_values
from clawft.policy.command.erasing import erased
from clawft.policy.command.expansion import TooComplex
from clawft.policy.command.known_output import PRINTERS
from clawft.policy.command.parsed_command import Command
from clawft.policy.command.persistence import persists
from clawft.policy.command.place import PlaceKind, is_disk, is_secret, kind_of
from clawft.policy.command.program import programs, runs_its_input, runs_output
from clawft.policy.command.reverse_shell import opens_reverse_shell
from clawft.policy.command.runners import PRIVILEGE, WRAPPERS
from clawft.policy.command.written import written
from clawft.policy.globs import any_matches

TOO_COMPLEX = "too-complex"
CONFIGURED = "configured"


class CommandRule(Struct, frozen=True):
    name: str
    why: str
    test: Callable[[Command], bool]
    asks: bool = False
    """The person is asked, where other rules refuse."""


# ── what a program would do ──────────────────────────────────────────────────────────────────────────────────────────

_DISK_TOOLS = re.compile(
    r"mkfs(\..*)?|mke2fs|mkswap|wipefs|blkdiscard|fdisk|sfdisk|gdisk|sgdisk|parted|hdparm|cryptsetup|nvme|newfs.*|format"
)
_DECODERS = frozenset("base64 base32 basenc xxd uudecode openssl gpg rev".split())
_POWER = frozenset({"shutdown", "reboot", "poweroff", "halt"})
_ONLY_TELLS = (("--help",), ("--version",))
_POWER_VERBS = frozenset({"poweroff", "reboot", "halt", "kexec", "rescue", "emergency"})
_OWNERSHIP = frozenset({"chmod", "chown", "chgrp", "setfacl", "chattr", "chflags"})
_WORLD_WRITABLE = re.compile(r"0?[0-7]{2}[2367]|[ugo]*[ao][ugo]*[+=][rxX]*w.*|\+[rxX]*w.*")
_USES_KEYS = frozenset("ssh sftp ssh-add ssh-keygen ssh-copy-id autossh mosh sshfs git".split())
_USED_BY: dict[str, str] = {
    "scp": "-i -F",
    "kubectl": "--kubeconfig",
    "helm": "--kubeconfig",
    "k9s": "--kubeconfig",
    "ansible": "--private-key --key-file",
    "ansible-playbook": "--private-key --key-file",
    "docker": "--config",
    "gpg": "--homedir",
    "tar": "--exclude",
    "rsync": "--exclude",
}
"""Options whose value may be a secret: a key file that is used but not shown, or a path that is left out."""
_ONLY_NAMES = frozenset(
    "ls tree du stat test [ [[ mkdir cd chmod chown touch file pushd find realpath readlink dirname basename"
    " export declare typeset local readonly".split()
)
_READS_NAMES: dict[str, tuple[str, ...]] = {
    "du": ("--fi",),
    "file": ("-f", "--fi"),
    "find": ("-files0-from",),
    "tree": ("--from",),
}
"""Options (or their beginnings) that read names from a file: every name that is not found is shown, so every line."""
_TAKES_PATTERN = frozenset("grep egrep fgrep zgrep rg ag sed awk gawk".split())
_HISTORY_EDITORS = frozenset({"rm", "shred", "unlink", "ln", "cp", "mv"})
_HISTORY_OFF = re.compile(r"HISTFILE(=(/dev/null)?)?|HISTSIZE=0|HISTFILESIZE=0")
_CONTAINERS = frozenset("docker podman nerdctl".split())
_HOST_ROOT = frozenset({"source=/", "src=/"})
_READ_ONLY = frozenset({"readonly", "ro", "readonly=true", "ro=true"})
_NO_PROGRAM = re.compile(r"-.*|[\d.]+[smhd]?|\{\}")
"""Words of a wrapper that cannot be a program: `22` in `ssh -p 22 …`, `90s` in `timeout 90s …`."""
_OPERATORS = frozenset({"&&", "||", "|", ";", "&"})
_MAX_PIECES = 16


def _erases(*kinds: PlaceKind) -> Callable[[Command], bool]:
    def test(command: Command) -> bool:
        return any(kind_of(word, command.folder) in kinds for word in erased(command))

    return test


def _unpreserved(command: Command) -> bool:
    return any(option.startswith("--no-pres") for option in command.options())


def _erases_root(command: Command) -> bool:
    return _unpreserved(command) or _erases("root")(command)


def _writes_disk(command: Command) -> bool:
    targets = written(command)
    if _DISK_TOOLS.fullmatch(command.name):
        targets += command.operands()
    return any(is_disk(target, command.folder) for target in targets)


def _fork_bomb(command: Command) -> bool:
    repeats = bool(command.fed_by) or command.background
    return bool(command.function) and command.words[:1] == (command.function,) and repeats


def _opens_root(command: Command) -> bool:
    if command.name not in _OWNERSHIP:
        return False
    mode, *places = [*command.operands(), ""]
    kinds = {kind_of(place, command.folder) for place in places if place}
    if "root" in kinds:
        return True
    world = command.name == "chmod" and _WORLD_WRITABLE.fullmatch(mode) is not None
    return command.has_flag("R", "--recursive") and bool(kinds & ({"system", "home"} if world else {"system"}))


def _runs_what(sources: frozenset[str]) -> Callable[[Command], bool]:
    def test(command: Command) -> bool:
        fed = runs_its_input(command) and any(stage.name in sources for stage in command.fed_by)
        return fed or (runs_output(command) and any(stage.name in sources for stage in command.inner))

    return test


def _powers_off(command: Command) -> bool:
    name, verbs = command.name, command.operands()[:1]
    if "/proc/sysrq-trigger" in written(command):
        return True
    if name in _POWER:
        return command.arguments not in _ONLY_TELLS
    if name in ("init", "telinit"):
        return verbs in (["0"], ["6"])
    return name in ("systemctl", "loginctl") and bool(_POWER_VERBS.intersection(verbs))


def _kills_all(command: Command) -> bool:
    arguments = list(command.arguments)
    if command.name == "kill":
        has_signal = arguments[:1] != ["--"] and arguments[:1] != [] and arguments[0].startswith("-")
        targets = arguments[2 if arguments[:1] in (["-s"], ["-n"]) else 1 :] if has_signal else arguments
        return not _ends_nobody(arguments, targets) and ("-1" in targets or "1" in targets)
    by_pattern = command.name == "pkill" or (command.name == "killall" and command.has_flag("r", "--regexp"))
    return command.name == "killall5" or (by_pattern and any(word in (".", ".*", "") for word in arguments))


def _ends_nobody(arguments: list[str], targets: list[str]) -> bool:
    """Whether it only checks for a process (`kill -0`) or lists signals (`kill -l`)."""
    harmless = arguments[:1] in (["-0"], ["-l"], ["-L"]) or arguments[:2] in (["-s", "0"], ["-n", "0"])
    return harmless and not any(word.startswith("-") for word in targets)


def _wipes_history(command: Command) -> bool:
    if command.name == "history":
        return command.has_flag("c")
    if command.name == "set":
        return command.arguments == ("+o", "history")
    if command.name in ("unset", "export", "env"):
        return any(map(_HISTORY_OFF.fullmatch, command.arguments))
    touched = [*written(command), *(command.arguments if command.name in _HISTORY_EDITORS else ())]
    return any(word.endswith("sh_history") for word in touched)


def _reads_secrets(command: Command) -> bool:
    if command.name in _USES_KEYS or command.name in PRINTERS or _only_names(command):
        return any(is_secret(word, command.folder) for word in command.reads)
    if command.name == "gpg" and any(option.startswith("--export-secret") for option in command.options()):
        return True
    skipped = {*option_values(command.words, _USED_BY.get(command.name, ""))}
    skipped.update(command.operands()[:1] if command.name in _TAKES_PATTERN else [])
    words = [
        word
        for word in (*_own_arguments(command), *command.reads)
        if not (word in skipped or (word[:1] == "-" and word.partition("=")[2] in skipped) or word.endswith(".pub"))
    ]
    pieces = (piece for word in words for piece in _pieces(word))
    return any(
        is_secret(piece, command.folder) for piece in pieces if not (command.no_shell and piece[:1] in ("~", "$"))
    )


def _only_names(command: Command) -> bool:
    """Whether it uses only the names of files and shows nothing of their contents."""
    reads = _READS_NAMES.get(command.name, ())
    return command.name in _ONLY_NAMES and not (reads and any(option.startswith(reads) for option in command.options()))


def _own_arguments(command: Command) -> list[str]:
    """The command's arguments, without those of a wrapped or following program that only uses keys."""
    words: list[str] = []
    own = not _NO_PROGRAM.fullmatch(command.name)
    for before, word in zip(command.words, command.arguments, strict=False):
        if command.no_shell and before in _OPERATORS:
            own = word not in _USES_KEYS and word not in _ONLY_NAMES
        if command.name in WRAPPERS and word in _USES_KEYS:
            break
        if own:
            words.append(word)
    return words


def _pieces(word: str) -> list[str]:
    """The word, and the pieces of it that may be paths: `if=…`, `@…`, `-v …:…`."""
    return [word, *re.split("[=@:]", word, maxsplit=_MAX_PIECES)] if " " not in word else []


def _shares_root(command: Command) -> bool:
    """Whether a container gets our whole file system with write access."""
    if command.name not in _CONTAINERS:
        return False
    volumes = [value.split(":") for value in option_values(command.words, "-v --volume")]
    if any(kind_of(place) == "root" and "ro" not in ":".join(rest[1:]).split(",") for place, *rest in volumes):
        return True
    mounts = [value.split(",") for value in option_values(command.words, "--mount")]
    return any(not _HOST_ROOT.isdisjoint(parts) and _READ_ONLY.isdisjoint(parts) for parts in mounts)


def _gains_privilege(command: Command) -> bool:
    return command.name in PRIVILEGE


RULES: tuple[CommandRule, ...] = (
    CommandRule("destroy-root", "it would erase the whole file system", _erases_root),
    CommandRule("destroy-system", "it would erase a folder the system needs", _erases("system")),
    CommandRule("destroy-home", "it would erase a home folder", _erases("home")),
    CommandRule("write-disk", "it would write to a disk or to memory directly", _writes_disk),
    CommandRule("fork-bomb", "it would start itself again and again", _fork_bomb),
    CommandRule("open-root", "it would change owners or permissions of the system", _opens_root),
    CommandRule("download-and-run", "it would run what it downloads, unseen", _runs_what(DOWNLOADERS)),
    CommandRule("decode-and-run", "it would run commands that are hidden by an encoding", _runs_what(_DECODERS)),
    CommandRule("remote-shell", "it would let another machine run commands here", opens_reverse_shell),
    CommandRule("share-root", "it would give a container the whole file system to write to", _shares_root),
    CommandRule("power-off", "it would stop or restart the machine", _powers_off),
    CommandRule("kill-all", "it would end every process", _kills_all),
    CommandRule("wipe-history", "it would remove the traces of what was run", _wipes_history),
    CommandRule("read-secrets", "it would read or change private keys or credentials", _reads_secrets),
    CommandRule("cloud-metadata", "it would ask the cloud for the credentials of this machine", asks_cloud),
    CommandRule("persist", "it would change what runs, or who may log in, from now on", persists, asks=True),
    CommandRule("privilege", "it asks for the rights of another user", _gains_privilege, asks=True),
    CommandRule(
        "empty-variable", "it would erase the whole file system if that variable is empty", _erases("maybe-root"), True
    ),
)
"""In the order they are tried; the first refusal is the answer."""


# ── judging ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge(command: str, allow: tuple[str, ...], deny: tuple[str, ...]) -> list[tuple[str, Verdict]]:
    """The verdict of every rule, in order. `allow`: rules switched off; `deny`: further globs."""
    try:
        found = programs(command.replace("\0", ""))  # as a shell does with a script it reads
    except TooComplex:
        reason = "the command is nested or expanded too far to be checked"
        return [(TOO_COMPLEX, Deny(TOO_COMPLEX, reason, "write it as several simple commands"))]
    looked = [(rule.name, _judge_one(rule, found, allow)) for rule in RULES]
    return [*looked, (CONFIGURED, _configured(command, found, deny))]


def _judge_one(rule: CommandRule, found: Iterable[Command], allow: tuple[str, ...]) -> Verdict:
    if rule.name in allow:
        return Allow(rule.name, "switched off by security.command_policy.allow")
    guilty = next(filter(rule.test, found), None)
    if guilty is None:
        return Allow(rule.name)
    verdict = Ask if rule.asks else Deny
    hint = f'to allow it, in config.toml: security.command_policy.allow = ["{rule.name}"]'
    return verdict(rule.name, f"{rule.why}: {guilty.shown()}", hint)


def _configured(command: str, found: Iterable[Command], globs: tuple[str, ...]) -> Verdict:
    if any_matches([command, *(" ".join(program.words) for program in found)] if globs else (), globs):
        return Deny(CONFIGURED, "a glob of security.command_policy.deny matches it", "remove that glob to allow it")
    return Allow(CONFIGURED)
