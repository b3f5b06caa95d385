"""The rules for command lines, each a pure function over one program run."""

import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from clawft.model import Allow, Ask, Deny, Verdict
from clawft.policy.expansion import TooComplex
from clawft.policy.globs import any_matches
from clawft.policy.parsed_command import Command
from clawft.policy.place import PlaceKind, is_disk, is_secret, kind_of
from clawft.policy.program import PRIVILEGE, SPEAKERS, is_opaque, programs, runs_its_input, runs_output, searched

TOO_COMPLEX = "too-complex"
CONFIGURED = "configured"


class CommandRule(Struct, frozen=True):
    name: str
    why: str
    test: Callable[[Command], bool]
    asks: bool = False
    """The person decides, instead of a plain no."""


# ── what a program would do ──────────────────────────────────────────────────────────────────────────────────────────

_ERASERS = frozenset({"rm", "srm", "rimraf", "grm"})
_COPIERS = frozenset({"cp", "mv", "dd", "tee", "shred", "install", "rsync", "truncate", "badblocks", "pv"})
_DISK_TOOLS = re.compile(
    r"mkfs(\..*)?|mke2fs|mkswap|wipefs|blkdiscard|fdisk|sfdisk|gdisk|sgdisk|parted|hdparm|cryptsetup|nvme|newfs.*|format"
)
_DOWNLOADERS = frozenset("curl wget fetch aria2c http https xh lynx links ftp tftp nc ncat netcat socat".split())
_DECODERS = frozenset("base64 base32 basenc xxd uudecode openssl gpg rev".split())
_POWER = frozenset({"shutdown", "reboot", "poweroff", "halt"})
_POWER_VERBS = frozenset({"poweroff", "reboot", "halt", "kexec", "rescue", "emergency"})
_OWNERSHIP = frozenset({"chmod", "chown", "chgrp", "setfacl", "chattr", "chflags"})
_WORLD_WRITABLE = re.compile(r"0?[0-7]{2}[2367]|[ugo]*[ao][ugo]*[+=][rxX]*w.*|\+[rxX]*w.*")
_USES_KEYS = frozenset("ssh scp sftp ssh-add ssh-keygen ssh-copy-id git".split())
_ONLY_NAMES = frozenset("ls stat test [ [[ mkdir cd chmod chown touch file pushd find".split())
_TAKES_PATTERN = frozenset("grep egrep fgrep zgrep rg ag sed awk gawk".split())
_HISTORY_EDITORS = frozenset({"rm", "shred", "truncate", "unlink", "ln", "cp", "mv", "tee"})
_HISTORY_OFF = re.compile(r"HISTFILE(=(/dev/null)?)?|HISTSIZE=0|HISTFILESIZE=0")
_MAX_PIECES = 16


def _erased(command: Command) -> list[str]:
    """The places it would erase with all they contain."""
    name = command.name
    if name in _ERASERS or is_opaque(command):
        return command.operands() if name == "rimraf" or command.has_flag("rR", "--recursive") else []
    if name in ("find", "gfind") and "-delete" in command.arguments:
        return searched(command)
    if name in ("mv", "gmv"):
        return command.operands()[:-1]
    if name == "rsync" and any(option.startswith("--del") for option in command.options()):
        return command.operands()[-1:]
    return []


def _erases(*kinds: PlaceKind) -> Callable[[Command], bool]:
    def test(command: Command) -> bool:
        return any(kind_of(word, command.folder) in kinds for word in _erased(command))

    return test


def _unpreserved(command: Command) -> bool:
    return any(option.startswith("--no-pres") for option in command.options())


def _erases_root(command: Command) -> bool:
    return _unpreserved(command) or _erases("root")(command)


def _writes_disk(command: Command) -> bool:
    targets = [*command.writes]
    if command.name in _COPIERS:
        targets += [word.removeprefix("of=") for word in command.arguments if not word.startswith("if=")]
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
    if name in _POWER or "/proc/sysrq-trigger" in command.writes:
        return True
    if name in ("init", "telinit"):
        return verbs in (["0"], ["6"])
    return name in ("systemctl", "loginctl") and bool(_POWER_VERBS.intersection(verbs))


def _kills_all(command: Command) -> bool:
    arguments = list(command.arguments)
    if command.name == "kill":
        has_signal = arguments[:1] != ["--"] and arguments[:1] != [] and arguments[0].startswith("-")
        targets = arguments[2 if arguments[:1] in (["-s"], ["-n"]) else 1 :] if has_signal else arguments
        return "-1" in targets or "1" in targets
    return command.name == "killall5" or (
        command.name == "pkill" and any(word in (".", ".*", "") for word in arguments)
    )


def _wipes_history(command: Command) -> bool:
    if command.name == "history":
        return command.has_flag("c")
    if command.name in ("unset", "export"):
        return any(map(_HISTORY_OFF.fullmatch, command.arguments))
    touched = [*command.writes, *(command.arguments if command.name in _HISTORY_EDITORS else ())]
    return any(word.endswith("sh_history") for word in touched)


def _reads_secrets(command: Command) -> bool:
    if command.name in _ONLY_NAMES or command.name in _USES_KEYS or command.name in SPEAKERS:
        return any(is_secret(word, command.folder) for word in command.reads)
    skipped = command.operands()[:1] if command.name in _TAKES_PATTERN else []
    words = [word for word in (*command.arguments, *command.reads) if word not in skipped and not word.endswith(".pub")]
    return any(is_secret(piece, command.folder) for word in words for piece in _pieces(word))


def _pieces(word: str) -> list[str]:
    """A path may follow a mark: `if=…`, `@…`, `-v …:…`."""
    return [word, *re.split("[=@:]", word, maxsplit=_MAX_PIECES)[1:]] if " " not in word else []


def _gains_privilege(command: Command) -> bool:
    return command.name in PRIVILEGE


RULES: tuple[CommandRule, ...] = (
    CommandRule("destroy-root", "it would erase the whole file system", _erases_root),
    CommandRule("destroy-system", "it would erase a folder the system needs", _erases("system")),
    CommandRule("destroy-home", "it would erase a home folder", _erases("home")),
    CommandRule("write-disk", "it would write to a disk or to memory directly", _writes_disk),
    CommandRule("fork-bomb", "it would start itself again and again", _fork_bomb),
    CommandRule("open-root", "it would change owners or permissions of the system", _opens_root),
    CommandRule("download-and-run", "it would run what it downloads, unseen", _runs_what(_DOWNLOADERS)),
    CommandRule("decode-and-run", "it would run commands that are hidden by an encoding", _runs_what(_DECODERS)),
    CommandRule("power-off", "it would stop or restart the machine", _powers_off),
    CommandRule("kill-all", "it would end every process", _kills_all),
    CommandRule("wipe-history", "it would remove the traces of what was run", _wipes_history),
    CommandRule("read-secrets", "it would read private keys or credentials", _reads_secrets),
    CommandRule("privilege", "it asks for the rights of another user", _gains_privilege, asks=True),
    CommandRule(
        "empty-variable", "it would erase the whole file system if that variable is empty", _erases("maybe-root"), True
    ),
)
"""In the order they are tried; the first refusal is the answer."""


# ── judging ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge(command: str, allow: tuple[str, ...], deny: tuple[str, ...]) -> list[tuple[str, Verdict]]:
    """What every rule says, in order. `allow`: rules switched off; `deny`: further globs."""
    try:
        found = programs(command.replace("\0", ""))  # as a shell does with a script it reads
    except TooComplex:
        reason = "the command is nested or expanded too far to be judged"
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
    hint = f'to allow it: security.command_policy.allow = ["{rule.name}"]'
    return verdict(rule.name, f"{rule.why}: {guilty.shown()}", hint)


def _configured(command: str, found: Iterable[Command], globs: tuple[str, ...]) -> Verdict:
    if any_matches([command, *(" ".join(program.words) for program in found)] if globs else (), globs):
        return Deny(CONFIGURED, "a glob of security.command_policy.deny matches it", "remove that glob to allow it")
    return Allow(CONFIGURED)
