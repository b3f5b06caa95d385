"""What a hostile server would try, one attack per run: its name and arguments are the lines of $ATTACK.

A command line would not do: the folders it names are what a server was told to work on. Plain Python, and no import of
ours, as it runs inside the sandbox.
"""

import ctypes
import os
import resource
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

KEYCTL = {"x86_64": 250, "aarch64": 219}
CLONE = {"x86_64": 56, "aarch64": 220}
CLONE3 = 435
IO_URING_SETUP = 425
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
PIDFD_SEND_SIGNAL = 424
PTRACE_ATTACH, PTRACE_DETACH = 16, 17
NEW_USERS, NEW_MOUNTS, DETACH = 0x10000000, 0x00020000, 2


def read(path: str) -> None:
    assert Path(path).read_bytes()


def list_names(folder: str) -> None:
    assert os.listdir(folder)


def write(path: str) -> None:
    Path(path).write_text("mine now")


def change(path: str) -> None:
    """Only opens it: some of these files belong to the kernel."""
    os.close(os.open(path, os.O_WRONLY))


def force_write(folder: str, name: str) -> None:
    """As its owner, who may change the mode first."""
    mode = os.stat(folder).st_mode
    os.chmod(folder, 0o755)
    write(f"{folder}/{name}")
    os.chmod(folder, mode & 0o7777)


def move(path: str, to: str) -> None:
    os.rename(path, to)


def signal_to(pid: str) -> None:
    os.kill(int(pid), 0)


def end(pid: str) -> None:
    os.kill(int(pid), signal.SIGKILL)


def signal_through(folder: str) -> None:
    """A process is named by its folder in /proc, too."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.syscall(PIDFD_SEND_SIGNAL, os.open(folder, os.O_RDONLY), 0, None, 0) == 0


def signal_to_parent() -> None:
    signal_to(str(os.getppid()))


def signal_to_group_of_parent() -> None:
    signal_to(str(-os.getpgid(os.getppid())))


def slow_down(which: str, who: str) -> None:
    """As it is: nobody could take it back. Of those who are not there, nobody was spared."""
    with suppress(ProcessLookupError):
        os.setpriority(int(which), int(who), os.getpriority(os.PRIO_PROCESS, 0))


def empty(path: str) -> None:
    os.truncate(path, 0)


def empty_by_opening(path: str, how: str) -> None:
    os.close(os.open(path, int(how) | os.O_TRUNC))


def spy(pid: str) -> None:
    assert b"SECRET_OF_OTHERS" in Path(f"/proc/{pid}/environ").read_bytes()


def attach(pid: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.ptrace(PTRACE_ATTACH, int(pid), 0, 0) == 0
    libc.ptrace(PTRACE_DETACH, int(pid), 0, 0)


def debug_own() -> None:
    """What debuggers do."""
    own = os.fork()
    if own == 0:
        signal.pause()
    try:
        attach(str(own))
    finally:
        os.kill(own, signal.SIGKILL)


def limit(pid: str) -> None:
    """One second of processor time would be the end of it."""
    resource.prlimit(int(pid), resource.RLIMIT_CPU, resource.prlimit(int(pid), resource.RLIMIT_CPU))


def listen_in(terminal: str) -> None:
    os.close(os.open(terminal, os.O_RDONLY | os.O_NOCTTY))


def own_terminal() -> None:
    os.openpty()


def family(number: str) -> None:
    socket.socket(socket.AddressFamily(int(number)), socket.SOCK_STREAM).close()


def ring() -> None:
    """What is asked for there passes by every filter."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.syscall(IO_URING_SETUP, 8, ctypes.create_string_buffer(256)) >= 0


def link(path: str, to: str) -> None:
    """Another name for a file, where one may write."""
    os.link(path, to)
    write(to)


def connect(port: str) -> None:
    socket.create_connection(("127.0.0.1", int(port)), timeout=5).close()


def send(port: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.sendto(b"secret", ("127.0.0.1", int(port)))


def connect_local(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as out:
        out.connect(path)


def connect_abstract(name: str) -> None:
    connect_local("\0" + name)


def uncover(folder: str) -> None:
    """Take away what covers a folder, from a namespace of one's own too."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.umount2(folder.encode(), DETACH)
    libc.unshare(NEW_USERS | NEW_MOUNTS)
    libc.umount2(folder.encode(), DETACH)
    assert os.listdir(folder)


def move_from_below(folder: str, name: str) -> None:
    """What is mounted on a folder keeps that in its place, but only for those who see the mount: so give up all of
    them, in a view of one's own, and keep hold of the folder around it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    held = os.open(folder, os.O_RDONLY)
    libc.unshare(NEW_USERS | NEW_MOUNTS)
    libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None)
    os.chdir("/tmp")
    libc.syscall(PIVOT_ROOT[os.uname().machine], b".", b".")
    libc.umount2(b".", DETACH)
    os.rename(name, f"{name}-moved", src_dir_fd=held, dst_dir_fd=held)


def own_mounts(call: str) -> None:
    """By each call that makes such a view."""
    libc = ctypes.CDLL(None, use_errno=True)
    made = libc.unshare(NEW_USERS | NEW_MOUNTS) if call == "unshare" else _cloned(libc, call)
    assert made == 0


def _cloned(libc: ctypes.CDLL, call: str) -> int:
    """0 if there was such a child."""
    if call == "clone":
        child = libc.syscall(CLONE[os.uname().machine], NEW_USERS | NEW_MOUNTS | signal.SIGCHLD, 0, 0, 0, 0)
    else:
        told = (ctypes.c_uint64 * 8)(NEW_USERS | NEW_MOUNTS, 0, 0, 0, signal.SIGCHLD)
        child = libc.syscall(CLONE3, told, ctypes.sizeof(told))
    if child == 0:
        os._exit(0)
    return os.waitpid(child, 0)[1] if child > 0 else -1


def keys() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.syscall(KEYCTL[os.uname().machine], 0, -3, 1) >= 0


def shared_memory(key: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.shmget(int(key), 1, 0) >= 0


def privileges() -> None:
    assert "NoNewPrivs:\t0" in Path("/proc/self/status").read_text()


def inherit() -> None:
    """A descriptor beyond the three; the one that lists them does not count."""
    assert len(os.listdir("/proc/self/fd")) > 4


if __name__ == "__main__":
    try:
        name, *arguments = os.environ["ATTACK"].splitlines()
        globals()[name](*arguments)
    except (OSError, AssertionError) as held:
        sys.exit(f"held: {type(held).__name__} {held}")
    print("through")
