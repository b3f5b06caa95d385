"""The launcher for machines without bubblewrap: limits itself by Landlock and a filter, then becomes the command.

    python -I -S landlock.py --rule read / --rule hide /home/me/.ssh … --abi 6 [--filter HEX]
        [--tend | --first [--pipes N]] [--variables N] -- COMMAND ARGS…

Run as a file of its own, so that a start costs an interpreter and `ctypes` and nothing else: nothing of ours is loaded.
Landlock only ever allows, below a path. A hidden folder inside a readable one is therefore left out by allowing all its
neighbours one by one; what is made beside it later stays out of sight as well.
"""

import ctypes
import os
import sys

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PATH_BENEATH = 1
NO_NEW_PRIVS, SET_SECCOMP, FILTER_MODE = 38, 22, 2
DEATH_SIGNAL, CHILD_SUBREAPER = 1, 36
DROP_POWER, MOST_POWERS, POWERS_VERSION = 24, 64, 0x20080522
INTERRUPT, KILL = 2, 9
IGNORED_BY_PYTHON = (13, 25)
"""SIGPIPE and SIGXFSZ, which a command would go on ignoring."""
MAX_ROUNDS = 10_000

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
ALL_OF_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""ABI version → all rights over files it knows."""
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | 1 << 14 | 1 << 15
SEES_EMPTYING = 3
"""The ABI version from which truncating files is controlled."""
BOUNDS_SIGNALS = 6
SCOPES = 3
"""Forbids to signal processes outside, and to reach their abstract sockets."""
FIRST_TO_GO = "500"
"""Added to the process's score, in thousandths of all memory, when the kernel looks for one to kill."""
STAND_IN = 0x7FFFFFFF
"""Stands in a filter for the number of the tender, which is known only when that runs."""
READ = EXECUTE | READ_FILE | READ_DIR
ALL_DEVICES = "/dev"
DEVICES = tuple(f"/dev/{name}" for name in "null zero full random urandom shm".split())
"""The usable part of `/dev`: through terminals of the user one reads what he types."""
MAX_RULES = 50_000

Rules = dict[str, str]


class RulesetAttr(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


class FilterProgram(ctypes.Structure):
    _fields_ = (("count", ctypes.c_ushort), ("steps", ctypes.c_char_p))


libc = ctypes.CDLL(None, use_errno=True)


def call(number: int, *arguments: object) -> int:
    done = libc.syscall(number, *arguments)
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(done)


def abi() -> int:
    """The Landlock version of this kernel; 0 if it has none."""
    return max(0, int(libc.syscall(CREATE_RULESET, None, 0, 1)))


def rights(version: int) -> int:
    return max(known for since, known in ALL_OF_ABI.items() if since <= version)


def grants(rules: Rules) -> list[tuple[str, str]]:
    """Paths to allow with all below them, chosen so that the deepest rule decides."""
    found: list[tuple[str, str]] = []
    _descend("/", rules.get("/", "hide"), rules, found)
    return found[:MAX_RULES]


def _descend(path: str, access: str, rules: Rules, found: list[tuple[str, str]]) -> None:
    below = path.rstrip("/") + "/"
    deeper = [each for each in rules if each.startswith(below) and each != path]
    if not deeper:
        if access in ("read", "write"):
            found.append((path, access))
        return
    names = {each[len(below) :].split("/")[0] for each in deeper}
    if access in ("read", "write"):
        names |= _names_in(path)
    for name in sorted(names):
        child = below + name
        if not os.path.islink(child):  # what it leads to has its own rule
            _descend(child, rules.get(child, access), rules, found)


def _names_in(folder: str) -> set[str]:
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


def restrict(rules: Rules, version: int) -> None:
    """Restrict this process and all it starts, irrevocably."""
    known = rights(version)
    attr = RulesetAttr(known, 0, SCOPES if version >= BOUNDS_SIGNALS else 0)
    size = ctypes.sizeof(attr) if version >= BOUNDS_SIGNALS else 8
    ruleset = call(CREATE_RULESET, ctypes.byref(attr), ctypes.c_size_t(size), 0)
    for path, access in grants({ALL_DEVICES: "hide", **rules}):
        _allow(ruleset, path, READ if access == "read" else known, known)
    for path in DEVICES:
        _allow(ruleset, path, known, known)
    libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
    call(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: str, access: int, known: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # gone, or not ours to see
    try:
        if os.readlink(f"/proc/self/fd/{parent}") != path:
            return  # somebody put a link on the way to it
        allowed = access & known if os.path.isdir(path) else access & known & OF_FILES
        rule = PathBeneath(allowed, parent)
        call(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0)
    except OSError:
        return  # a kind of file that cannot be named in a rule
    finally:
        os.close(parent)


def give_up_powers() -> None:
    """Drop the capabilities of a root user: with them he sees into processes that Landlock would hide."""
    for power in range(MOST_POWERS):
        libc.prctl(DROP_POWER, power, 0, 0, 0)  # those there are; programs run from now on get none of them
    libc.capset((ctypes.c_uint32 * 2)(POWERS_VERSION, 0), (ctypes.c_uint32 * 6)())


def naming_tender(steps: bytes, tender: int) -> bytes:
    """The filter, with the number of the tender and of its group in place of the stand-in."""
    numbers = {_word(STAND_IN * sign): _word(tender * sign) for sign in (1, -1)}
    words = (steps[at : at + 4] for at in range(0, len(steps), 4))
    return b"".join(numbers.get(word, word) for word in words)


def _word(number: int) -> bytes:
    return (number & 0xFFFFFFFF).to_bytes(4, sys.byteorder)


def go_first() -> None:
    """Have the kernel kill this server before the user's own programs when memory runs out."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(FIRST_TO_GO)
    except OSError:
        return  # it would be ended even earlier


def filter_calls(steps: bytes) -> None:
    program = FilterProgram(len(steps) // 8, steps)
    libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(SET_SECCOMP, FILTER_MODE, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the kernel takes no filter")


def read_variables(descriptor: int) -> dict[bytes, bytes]:
    """Names and values, each ended by a zero byte; they come by a file because everybody's `ps` shows arguments."""
    with open(descriptor, "rb") as file:
        words = iter(file.read().split(b"\0"))
    return dict(zip(words, words, strict=False))


# ── where there is a namespace of processes ──────────────────────────────────────────────────────────────────────────


def receive_pipes(descriptor: int) -> None:
    """Take input and output from this socket. They are not inherited, as `unshare` would stay and hold them."""
    import _socket  # what stands above it takes as long to load as Python itself

    parcel = _socket.socket(fileno=descriptor)
    _, ((_, _, sent),), _, _ = parcel.recvmsg(16, _socket.CMSG_SPACE(2 * ctypes.sizeof(ctypes.c_int)))
    for place, received in enumerate(memoryview(sent).cast("i")):
        os.dup2(received, place)
        os.close(received)
    parcel.close()


def stay_first() -> None:
    """Fork: return in the child, and stay as the first process of the namespace, until the child ends.

    The command must not be the first process: signals such as SIGTERM do nothing to that one, not even its own, and
    orphans would wait for it as zombies to the end.
    """
    command = os.fork()
    if command == 0:
        return
    libc.signal(INTERRUPT, None)  # Python would end by it
    _let_go_of_pipes()
    pid, status = os.wait()
    while pid != command:
        pid, status = os.wait()
    _end_like(status)


# ── where there is no namespace of processes ─────────────────────────────────────────────────────────────────────────


def tend() -> None:
    """Fork: return in the child, and stay outside to end what it leaves behind, when it ends or we are told to.

    Orphans become our children, wherever they have put themselves, so none of them is lost.
    """
    signals = __import__("_signal")  # what stands above it takes half as long to load as Python itself
    libc.prctl(CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(DEATH_SIGNAL, signals.SIGTERM, 0, 0, 0)
    heard = (signals.SIGCHLD, signals.SIGTERM)
    before = signals.pthread_sigmask(signals.SIG_BLOCK, heard)
    command = os.fork()
    if command == 0:
        libc.prctl(DEATH_SIGNAL, KILL, 0, 0, 0)
        signals.pthread_sigmask(signals.SIG_SETMASK, before)
        return
    _let_go_of_pipes()
    statuses: dict[int, int] = {}
    while command not in statuses and signals.sigwait(heard) == signals.SIGCHLD:
        statuses.update(_ended())
    _end_all()
    _end_like(statuses.get(command, int(signals.SIGTERM)))


def _ended() -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    try:
        while (each := os.waitpid(-1, os.WNOHANG))[0]:
            found.append(each)
    except ChildProcessError:
        pass
    return found


def _end_all() -> None:
    """Kill all children, and theirs, which become ours in turn. One that forks faster than that is left at the end."""
    for _ in range(MAX_ROUNDS):
        children = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _parent_of(pid) == os.getpid()]
        for pid in children:
            os.kill(pid, KILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return
        _ended()


def _parent_of(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0  # gone in the meantime


# ── in both ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _let_go_of_pipes() -> None:
    """Close our input and output, so that we do not hold those of the command open."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)


def _end_like(status: int) -> None:
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


class LauncherOptions:
    """The parsed words before `--`, and the command behind it."""

    def __init__(self, words: list[str]) -> None:
        self.rules: Rules = {}
        self.version = 0
        self.steps = b""
        self.pipes = -1
        self.tended = False
        self.first = False
        self.variables: dict[bytes, bytes] = {}
        """Variables that would affect our own loader, too."""
        while words and words[0] != "--":
            self._take(words.pop(0), words)
        self.command = words[1:]

    def _take(self, option: str, words: list[str]) -> None:
        match option:
            case "--rule":
                access, path = words.pop(0), words.pop(0)
                self.rules[path] = access
            case "--abi":
                self.version = int(words.pop(0))
            case "--filter":
                self.steps = bytes.fromhex(words.pop(0))
            case "--pipes":
                self.pipes = int(words.pop(0))
            case "--variables":
                self.variables = read_variables(int(words.pop(0)))
            case "--tend":
                self.tended = True
            case "--first":
                self.first = True
            case other:
                sys.exit(f"sandbox: unknown option {other!r}")


def main(words: list[str]) -> None:
    options = LauncherOptions(words)
    if options.pipes >= 0:
        receive_pipes(options.pipes)
    try:
        become(options)
    except OSError as failed:
        sys.exit(f"sandbox: {options.command[0]} could not be started: {failed}")


def become(options: LauncherOptions) -> None:
    """Restrict ourselves and become the command. Never returns."""
    if options.version and os.getuid() == 0:
        give_up_powers()
    if options.tended:
        tend()
    if options.first:
        stay_first()
    if options.version:
        go_first()
        restrict(options.rules, options.version)
    if options.steps:
        filter_calls(naming_tender(options.steps, os.getppid()) if options.tended else options.steps)
    os.environb.update(options.variables)
    for number in IGNORED_BY_PYTHON:
        libc.signal(number, None)
    os.execv(options.command[0], options.command)  # noqa: S606 - becoming the command is what a launcher does


if __name__ == "__main__":
    main(sys.argv[1:])
