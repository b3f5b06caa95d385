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
"""Broken pipes and files that are too large: a command would go on ignoring them."""
MAX_ROUNDS = 10_000

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
ALL_OF_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""Every right over files that a version knows."""
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | 1 << 14 | 1 << 15
SEES_EMPTYING = 3
"""Since this version it looks at who empties a file."""
BOUNDS_SIGNALS = 6
SCOPES = 3
"""No signals to and no abstract sockets of those outside; since that version."""
FIRST_TO_GO = "500"
"""What the kernel adds to the memory of a process, in thousandths of all there is, when it looks for one to end."""
STAND_IN = 0x7FFFFFFF
"""For the number of whoever tends a command, in the filter of that: known when there is one."""
READ = EXECUTE | READ_FILE | READ_DIR
ALL_DEVICES = "/dev"
DEVICES = tuple(f"/dev/{name}" for name in "null zero full random urandom shm".split())
"""All there is of `/dev`: through a terminal of the user one reads what he types, through others what he says."""
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
    """The version this kernel has; 0 if none."""
    return max(0, int(libc.syscall(CREATE_RULESET, None, 0, 1)))


def rights(version: int) -> int:
    return max(known for since, known in ALL_OF_ABI.items() if since <= version)


def grants(rules: Rules) -> list[tuple[str, str]]:
    """Paths to allow, each with all below it, so that of the rules the deepest wins."""
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
        if not os.path.islink(child):  # what it leads to has a rule of its own
            _descend(child, rules.get(child, access), rules, found)


def _names_in(folder: str) -> set[str]:
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()


def restrict(rules: Rules, version: int) -> None:
    """From here on, for this process and all it starts, for good."""
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
    """A root user keeps none of his: with them one looks into processes that Landlock keeps from others."""
    for power in range(MOST_POWERS):
        libc.prctl(DROP_POWER, power, 0, 0, 0)  # those there are; whatever is run from now on gets none of them
    libc.capset((ctypes.c_uint32 * 2)(POWERS_VERSION, 0), (ctypes.c_uint32 * 6)())


def naming_tender(steps: bytes, tender: int) -> bytes:
    """The filter, with the number of the tender, and of the group it leads, where something stands for them."""
    numbers = {_word(STAND_IN * sign): _word(tender * sign) for sign in (1, -1)}
    words = (steps[at : at + 4] for at in range(0, len(steps), 4))
    return b"".join(numbers.get(word, word) for word in words)


def _word(number: int) -> bytes:
    return (number & 0xFFFFFFFF).to_bytes(4, sys.byteorder)


def go_first() -> None:
    """Where memory runs out, a server is ended before whatever the user works with."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(FIRST_TO_GO)
    except OSError:
        return  # it would be ended even earlier


def filter_calls(steps: bytes) -> None:
    told = FilterProgram(len(steps) // 8, steps)
    libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(SET_SECCOMP, FILTER_MODE, ctypes.byref(told), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the kernel takes no filter")


def read_variables(descriptor: int) -> dict[bytes, bytes]:
    """Names and values, each with a zero behind it: what stands in our arguments stands in everybody's `ps`."""
    with open(descriptor, "rb") as file:
        words = iter(file.read().split(b"\0"))
    return dict(zip(words, words, strict=False))


# ── where there is a namespace of processes ──────────────────────────────────────────────────────────────────────────


def receive_pipes(descriptor: int) -> None:
    """Input and output come through this socket, not by inheritance: who made the namespace stays, with all he has."""
    import _socket  # what stands above it takes as long to load as Python itself

    parcel = _socket.socket(fileno=descriptor)
    _, ((_, _, sent),), _, _ = parcel.recvmsg(16, _socket.CMSG_SPACE(2 * ctypes.sizeof(ctypes.c_int)))
    for place, received in enumerate(memoryview(sent).cast("i")):
        os.dup2(received, place)
        os.close(received)
    parcel.close()


def stay_first() -> None:
    """Returns in a child; stays as the first process of the namespace, which ends with that child.

    A command must not be the first itself: what ends every other process does nothing to that one, be it SIGTERM or a
    signal it sends to itself, and those whose parent is gone would wait for it to the end.
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
    """Returns in a child; stays outside to end whatever that leaves behind, when it ends or when we are told to.

    Those whose parent is gone become our children, wherever they have put themselves: so none of them is lost.
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
    """Children of those we end become ours in turn; one that makes others faster than that is left at the end."""
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
    """Whoever waits for the end of the output of a command shall not wait for us."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)


def _end_like(status: int) -> None:
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


class LauncherOptions:
    """The words before `--`, read; and the command behind it."""

    def __init__(self, words: list[str]) -> None:
        self.rules: Rules = {}
        self.version = 0
        self.steps = b""
        self.pipes = -1
        self.tended = False
        self.first = False
        self.variables: dict[bytes, bytes] = {}
        """What would steer our own loader, too."""
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
    """Limit ourselves, for good, and become the command. Never returns."""
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
