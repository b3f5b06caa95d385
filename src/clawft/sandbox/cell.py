"""Builds the start of a command inside its bounds: the words before it, its environment, and a status line."""

from __future__ import annotations

import os
import socket
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from clawft.errors import SpawnFailed
from clawft.sandbox import bwrap, pipes, seccomp
from clawft.sandbox.bounds import ANY_HOST, NAME_LOOKUP, RUNNING, Bounds, PathRule, access_to, is_within
from clawft.sandbox.probe import Means, hard_limit, tasks_among_all
from clawft.sandbox.settled_rules import settled
from clawft.sandbox.split_folder import taken_apart
from clawft.sandbox.walls import Gate, walls_of

if TYPE_CHECKING:  # only servers of a workspace have some
    from clawft.sandbox.pinned_file import PinnedFile

LAUNCHER = str(Path(__file__).with_name("landlock.py"))
LAUNCHING = (sys.executable, "-I", "-S", LAUNCHER)
PROXY_SOCKET = str(Path(__file__).with_name("proxy_socket.py"))
HINT = 'weft doctor shows what this machine supports; sandbox = "auto" uses the best available'


STEERING = ("LD_", "MALLOC_")
"""Prefixes of variables that make the loader or the C library run other code, or write files."""
ALSO_STEERING = frozenset(
    "GCONV_PATH GETCONF_DIR GLIBC_TUNABLES HOSTALIASES LOCALDOMAIN LOCPATH NIS_PATH NLSPATH RESOLV_HOST_CONF "
    "RES_OPTIONS TZDIR".split()
)
"""Further variables that the C library ignores in programs with more rights than their caller."""

OWN_FOLDERS = {
    "XDG_CACHE_HOME": "",  # uv, pip, pipx, deno, corepack, and all others that keep to the convention
    "npm_config_cache": "/npm",
    "PNPM_HOME": "/pnpm",  # else pnpm makes its store in the workspace
    "UV_TOOL_DIR": "/uv-tools",  # uvx locks it before it runs anything
    "PIPX_HOME": "/pipx",
    "PIPX_BIN_DIR": "/pipx/bin",  # pipx makes the next two at each start, used or not
    "PIPX_MAN_DIR": "/pipx/man",
    "CLAWFT_HOME": "/clawft",  # one that is made with our own library: our home is out of its sight
}
"""Variable → folder below the child's own one. User data (`XDG_DATA_HOME`) stays: honest servers read it."""
PYTHONS = "UV_PYTHON_INSTALL_DIR"


class CellStart(Struct, frozen=True):
    """The program to start in place of a command."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    descriptors: tuple[int, ...] = ()
    """To be inherited by the child, and closed in weft afterwards."""
    temporary: str = ""
    """A folder to remove when the child has ended."""
    walled: bool = False
    """The process we start is the wall, and the command runs behind it."""
    ends: tuple[int, int] | None = None
    """Our ends of its input and output, if these are sent to it and not inherited."""
    tended: bool = False
    """The process we start ends all others when it is told to end, also those that left their group."""
    handed: socket.socket | None = None
    """The socket on which the cell hands out its listener for the proxy."""
    hosts: tuple[str, ...] = ()
    gate: Gate | None = None
    """Holds the command back until its walls were checked."""


class Cell(Struct, frozen=True):
    """Bounds, and the means to enforce them on a child."""

    bounds: Bounds | None
    means: Means
    memory: int = 0
    """Bytes of private memory for each of its processes; 0: no limit."""

    @property
    def line(self) -> str:
        """The line in `status`: the level, and its weaknesses."""
        if self.bounds is None:
            return "off"
        weaker = weakness(self.bounds, self.means)
        return f"{self.means.name} ({weaker})" if weaker else self.means.name

    def start(
        self,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        *,
        own_pipes: bool = False,
        pinned: Sequence[PinnedFile] = (),
    ) -> CellStart:
        """How to start a command in this cell. Raises SpawnFailed where the bounds are required and cannot be kept.

        `own_pipes`: if possible, no process around the command holds its input and output, so that their end is
        noticed. `pinned`: files whose approved content is given to the command, if possible.
        """
        bounds, means = self.bounds, self.means
        if bounds is None:
            return self._free(argv, env, own_pipes)
        lacking = lacks(bounds, means)
        if bounds.required and lacking:
            raise SpawnFailed(f"its required sandbox is not available: {lacking}", hint=HINT)
        if means.level == "none":
            return self._free(argv, env, own_pipes)
        bounds = msgspec.structs.replace(bounds, rules=tuple(settled(bounds.rules, bounds.workspace)))
        if means.level == "landlock":
            return self._land(bounds, argv, env, own_pipes)
        return self._bubble(bounds, argv, cwd, with_own(bounds, env), own_pipes, pinned)

    def _free(self, argv: Sequence[str], env: Mapping[str, str], own_pipes: bool) -> CellStart:
        """A start without bounds. With `own_pipes` a launcher still ends the processes a command leaves behind."""
        before = (*self._limiting(self.means.limits), *self.means.leash)
        if not own_pipes or sys.platform != "linux":
            return CellStart((*before, *argv), env)
        env, steering, passed = for_launcher(env)
        argv = (*before, *LAUNCHING, "--tend", *steering, "--", *argv)
        return CellStart(argv, env, passed, walled=True, tended=True)

    def _bubble(
        self,
        bounds: Bounds,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        own_pipes: bool,
        pinned: Sequence[PinnedFile],
    ) -> CellStart:
        if not self.means.offline:
            bounds = msgspec.structs.replace(bounds, network=(ANY_HOST,))
        if bounds.home:
            bounds = msgspec.structs.replace(bounds, rules=tuple(taken_apart(bounds.rules, bounds.home)))
        steps = seccomp.program(os.uname().machine, network=True, walled=True)
        passed = [readable(steps)] if steps else []
        env, steering = kept_apart(env)
        shape = bwrap.arguments(bounds, cwd, sized=self.means.sized, seccomp="".join(map(str, passed)))
        for file in pinned:
            if file.content is not None:
                passed.append(readable(file.content))
                shape += bwrap.given(file.place, file.mode, passed[-1])
        shape += [word for name, value in steering.items() for word in ("--setenv", name, value)]
        walls = walls_of(bounds, (file.place for file in pinned if file.content is not None))
        gate = Gate(walls) if walls else None
        if gate is not None:
            waiting = [out_of_the_way(descriptor) for descriptor in gate.descriptors]
            passed += waiting
            shape += bwrap.waiting(*waiting)
        passed.append(readable(zero_ended(shape)))  # so that they are not in everybody's `ps`
        away, inside = self._around_the_wall(own_pipes and pipes.are_kept(env))
        before = [*away, self.means.bwrap, "--args", str(passed[-1]), "--", *inside]
        found = CellStart((*before, *argv), env, tuple(passed), walled=True, gate=gate)
        return with_door(found, len(before), bounds.network) if bounds.some_hosts else found

    def _around_the_wall(self, own_pipes: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words before the wall, and those between it and the command."""
        means = self.means
        if not own_pipes or not means.away:
            return (), self._limiting(means.inner_limits)
        return means.away, pipes.with_memory(means.back, self._most) if self.memory else means.back

    def _limiting(self, limits: tuple[str, ...]) -> tuple[str, ...]:
        """The limits with one on data, not on all mapped memory: Node and Java map far more than they use."""
        return (*limits[:-1], f"--data={self._most}:{self._most}", "--") if limits and self.memory else limits

    @property
    def _most(self) -> int:
        return hard_limit("RLIMIT_DATA", self.memory)

    def _land(self, bounds: Bounds, argv: Sequence[str], env: Mapping[str, str], own_pipes: bool) -> CellStart:
        from clawft.sandbox import landlock  # only for Landlock
        from clawft.sandbox.temporary import private_folder

        temporary = private_folder()
        rules = (*without_islands(bounds.rules), PathRule(temporary, "write"))
        means, tended = self.means, not self.means.alone
        steps = seccomp.program(
            os.uname().machine,
            network=bounds.any_host or bounds.some_hosts,
            local=not bounds.own or opens_socket(bounds.rules),
            spared=spared_by(means.abi) if tended else (),
            emptying=means.abi >= landlock.SEES_EMPTYING,
        )
        words = [word for rule in rules for word in ("--rule", rule.access, rule.path)]
        words += ["--abi", str(means.abi), "--filter", steps.hex(), "--tend" if tended else "--first"]
        parcel, ends = sent_pipes() if own_pipes and not tended else ((), None)
        words += [word for descriptor in parcel for word in ("--pipes", str(descriptor))]
        env, more, passed = for_launcher({"TMPDIR": temporary, **with_own(bounds, env)})
        before = (*means.leash, *means.alone, *self._limiting(counting(means.limits) if tended else means.inner_limits))
        argv = (*before, *LAUNCHING, *words, *more, "--", *argv)
        return CellStart(argv, env, (*parcel, *passed), temporary, walled=tended, ends=ends, tended=tended)


def opens_socket(rules: Iterable[PathRule]) -> bool:
    """Whether the rules open sockets. Landlock keeps nobody from a socket that has a path, hidden or not."""
    opened = (rule.path for rule in rules if rule.access in ("read", "write"))
    return any(_is_socket(path) or (is_within(path, RUNNING) and path not in NAME_LOOKUP) for path in opened)


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False  # gone in the meantime


def counting(limits: tuple[str, ...]) -> tuple[str, ...]:
    """The limits with one on the number of processes, where those of a child are not counted apart."""
    return (*limits[:-1], f"--nproc={tasks_among_all()}", "--") if limits else limits


def spared_by(abi: int) -> tuple[int, ...]:
    """Processes a child must not signal if it sees them: weft, and, where Landlock ignores signals, the tender."""
    from clawft.sandbox import landlock  # only for Landlock

    tender = (seccomp.TENDER, -seccomp.TENDER) if abi < landlock.BOUNDS_SIGNALS else ()
    return (os.getpid(), -os.getpgrp(), *tender)


def with_door(start: CellStart, at: int, hosts: tuple[str, ...]) -> CellStart:
    """The start with a proxy to these hosts; `at` is where the command begins."""
    from clawft.sandbox import egress_proxy  # only for those who list hosts

    ours, theirs = socket.socketpair()
    handle = out_of_the_way(theirs.detach())
    opener = (sys.executable, "-I", "-S", PROXY_SOCKET, str(handle), str(egress_proxy.PORT))
    return msgspec.structs.replace(
        start,
        argv=(*start.argv[:at], *opener, *start.argv[at:]),
        env={**egress_proxy.variables(hosts), **start.env},
        descriptors=(*start.descriptors, handle),
        handed=ours,
        hosts=hosts,
    )


def without_islands(rules: Sequence[PathRule]) -> list[PathRule]:
    """The rules without read-only places in writable folders: Landlock can only close such a folder to new files."""
    kept: list[PathRule] = []
    for rule in rules:
        if rule.access not in ("read", "write") or access_to(rule.path, kept) != "write":
            kept.append(rule)
    return kept


def readable(data: bytes) -> int:
    """A descriptor in memory to read these bytes from."""
    descriptor = os.memfd_create("weft")
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return out_of_the_way(descriptor)


def zero_ended(words: Iterable[str]) -> bytes:
    return os.fsencode("".join(f"{word}\0" for word in words))


def sent_pipes() -> tuple[tuple[int], tuple[int, int]]:
    """A descriptor that receives an input and an output, and our ends of them.

    Processes that inherit only this descriptor and stay, such as `unshare`, do not hold the pipes.
    """
    their_input, our_output = os.pipe()
    our_input, their_output = os.pipe()
    ours, theirs = socket.socketpair()
    with ours:
        socket.send_fds(ours, [b"pipes"], [their_input, their_output])
    os.close(their_input)
    os.close(their_output)
    return (theirs.detach(),), (our_output, our_input)


def out_of_the_way(descriptor: int) -> int:
    """The descriptor under a higher number, above those used for input and output."""
    import fcntl  # not everywhere

    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, pipes.LOWEST_OTHER)
    os.close(descriptor)
    return moved


def for_launcher(env: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...], tuple[int, ...]]:
    """The variables the launcher may see; its options to read the others; and the files those are read from."""
    env, steering = kept_apart(env)
    passed = (readable(zero_ended(word for pair in steering.items() for word in pair)),) if steering else ()
    return env, tuple(word for descriptor in passed for word in ("--variables", str(descriptor))), passed


def kept_apart(env: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The variables for all programs on the way, and those for the command alone: bubblewrap has all our rights."""
    steering = {name: value for name, value in env.items() if _steers(name) and "\0" not in name + value}
    return {name: value for name, value in env.items() if name not in steering}, steering


def _steers(name: str) -> bool:
    return name.startswith(STEERING) or name in ALSO_STEERING


def with_own(bounds: Bounds, env: Mapping[str, str]) -> dict[str, str]:
    """The variables, with own folders for what programs fetch: the user's are shared by all, and so read-only."""
    if not bounds.own:
        return dict(env)
    own = {name: bounds.own + folder for name, folder in OWN_FOLDERS.items()}
    if not _sees_pythons(bounds, env):
        own[PYTHONS] = f"{bounds.own}/uv-python"
    return {**own, **env}


def _sees_pythons(bounds: Bounds, env: Mapping[str, str]) -> bool:
    """Whether uv can read the interpreters it has fetched for the user."""
    data = env.get("XDG_DATA_HOME") or f"{env.get('HOME') or bounds.home}/.local/share"
    folder = f"{data}/uv/python"
    return os.path.isdir(folder) and access_to(os.path.realpath(folder), bounds.rules) != "hide"


def lacks(bounds: Bounds, means: Means) -> str:
    """The demands of the bounds that this machine cannot meet; empty if it can meet all."""
    if means.level == "none":
        return means.reason
    if bounds.some_hosts and means.level != "bwrap":
        return f"the network cannot be limited to some hosts: {means.reason}"
    if not bounds.any_host and means.level == "bwrap" and not means.offline:
        return "this machine does not let bubblewrap take the network away"
    if not bounds.any_host and means.level == "landlock" and os.uname().machine not in seccomp.MACHINES:
        return f"the network cannot be taken away on {os.uname().machine}"
    return ""


def weakness(bounds: Bounds, means: Means) -> str:
    return lacks(bounds, means) or means.reason
