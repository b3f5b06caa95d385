"""The command `weft`: finds the command, runs it, and turns what went wrong into words and an exit code.

Nothing is imported before it is known what runs: start-up is a feature. To add a command: a folder `cli/<command>/`
with `VERBS` in its `__init__` and a module with `run` for each of them, a row in `COMMANDS`, and lines to try in
`EXAMPLES`.
"""

from __future__ import annotations

import gc
import io
import os
import sys

from clawft._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing alone costs more than all that `weft --version` needs
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from types import FrameType
    from typing import Any, NoReturn, TypeVar

    from clawft.cli.parser import Parser, Verb
    from clawft.errors import ClawftError

    T = TypeVar("T")

OK, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130

COMMANDS: Mapping[str, tuple[str, str]] = {
    "mcp-server": ("mcp_server", "Serve MCP on stdin and stdout, for an editor or agent that starts it"),
    "gateway": ("gateway", "Serve MCP over HTTP on 127.0.0.1:8765/mcp"),
    "agent": ("agent", "Run one task with all tools: by Claude, another model, or a script"),
    "serve-model": ("serve_model", "Serve a scenario as a model's API, to test agents offline"),
    "servers": ("servers", "List, add, test, import and watch MCP servers"),
    "auth": ("auth", "Log in to servers and services, and log out"),
    "tools": ("tools", "List, search, show and call tools"),
    "resources": ("resources", "List and read resources"),
    "prompts": ("prompts", "List and get prompts"),
    "approvals": ("approvals", "Approve servers and tools, and see what changed"),
    "audit": ("audit", "Read and verify the audit of every call"),
    "policy": ("policy", "Explain what would be allowed, and by which rule"),
    "config": ("config", "Show, locate and check the configuration"),
    "doctor": ("doctor", "Report problems and how to fix them"),
    "completion": ("completion", "Print the completion script of a shell"),
}
"""Command → its folder in `cli` and what it does."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Never raises for what a user can cause."""
    if argv is not None:
        return _main(list(argv))
    try:
        code = _main(sys.argv[1:])
    except SystemExit as ended:
        _leave_threads(ended.code if isinstance(ended.code, int) else FAILED)
        raise
    _leave_threads(code)
    return code


def _leave_threads(code: int) -> None:
    """Exit at once if a thread is stuck, as Python would wait for it for ever."""
    threading = sys.modules.get("threading")
    if threading is None:
        return
    others = (each for each in threading.enumerate() if each is not threading.main_thread())
    if any(not each.daemon for each in others):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _main(words: list[str]) -> int:
    gc.disable()  # what is loaded from here on stays; `app.run` turns it on again
    _open_what_is_closed()
    _print_anything()
    try:
        code = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _nobody_reads()
    except MemoryError:
        _end_without_memory()
    except Exception as failure:
        if isinstance(failure.__context__, KeyboardInterrupt):  # argparse cleans up what it has not begun yet
            return INTERRUPTED
        code = _report(failure, words)
        if code is None:
            raise
    return code


def _open_what_is_closed() -> None:
    """Open closed standard streams: otherwise the next file or socket would take their number, and be written to."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def _print_anything() -> None:
    """Escape characters that the encoding of the terminal lacks, instead of crashing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _run(words: list[str]) -> int:
    if words[:1] in (["--version"], ["-V"]):
        return _print_version()
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if not words or words[0] in ("--help", "-h"):
        from clawft.cli.help import overview  # only for help

        print(overview(), end="", file=sys.stdout if words else sys.stderr)
        return OK if words else WRONG_USAGE
    command = words[0]
    if command not in COMMANDS:
        raise _unknown(words)
    return _run_command(command, words[1:])


def _unknown(words: list[str]) -> ClawftError:
    from clawft.cli.other_words import meant  # only to complain
    from clawft.cli.parser import unknown

    first = words[0]
    if first.startswith("-"):
        return unknown("option", first, OPTIONS, _with_options_behind(words) or "weft --help")
    suggestion = meant(first) or _whole(first)
    return unknown("command", first, () if suggestion else [*COMMANDS, *OPTIONS], suggestion or "weft --help")


def _with_options_behind(words: list[str]) -> str:
    """The line that was typed with its options moved behind the command; empty if there is no command in it."""
    from shlex import join  # only to complain

    at = next((at for at, word in enumerate(words) if word in COMMANDS), 0)
    end = words.index("--") if "--" in words else len(words)
    return f"weft {join([*words[at:end], *words[:at], *words[end:]])}" if 0 < at < end else ""


def _whole(verb: str) -> str:
    """The commands that have this verb, as only the verb was typed."""
    return ", or ".join(f"weft {command} {verb}" for command in COMMANDS if verb and verb in verbs_of(command))


def _run_command(command: str, words: list[str]) -> int:
    _end_while_loading()
    verbs = verbs_of(command)
    if "" in verbs:
        return _run_verb(f"weft {command}", verbs[""], words)
    if words[:1] in (["--help"], ["-h"]):
        from clawft.cli.help import overview_of  # only for help

        print(overview_of(command, verbs), end="")
        return OK
    if not words or words[0] not in verbs:
        raise _unknown_verb(command, words[0] if words else "", verbs)
    return _run_verb(f"weft {command} {words[0]}", verbs[words[0]], words[1:])


def _unknown_verb(command: str, word: str, verbs: Mapping[str, Verb]) -> ClawftError:
    from clawft.cli.other_words import meant  # only to complain
    from clawft.cli.parser import missing_verb, unknown

    if not word or word.startswith("-"):
        return missing_verb(command, verbs)
    other = meant(word, command)
    return unknown(f"{command} command", word, () if other else verbs, other or f"weft {command} --help")


def _run_verb(name: str, verb: Verb, words: list[str]) -> int:
    return verb.run(parser_of(name, verb).read(words))


def verbs_of(command: str) -> Mapping[str, Verb]:
    from importlib import import_module  # a command imports only what it uses

    return import_module(f"clawft.cli.{COMMANDS[command][0]}").VERBS


def parser_of(name: str, verb: Verb) -> Parser:
    from clawft.cli.parser import Parser  # brings the errors

    parser = Parser(name, verb.summary)
    verb.options(parser)
    return parser


# ── Ctrl-C while we load ─────────────────────────────────────────────────────────────────────────────────────────────
#
# An exception out of nowhere breaks what is half loaded: msgspec does not notice that a module it needs was
# interrupted, and ends the process with a segmentation fault later. While we load nothing has begun: we end at once.


def _end_while_loading() -> None:
    """Let Ctrl-C during an import end the program; elsewhere it raises as usual. An ignored SIGINT stays ignored."""
    import signal  # not for `weft --version`

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def begin_loop(run: Callable[[Coroutine[Any, Any, T]], T], work: Coroutine[Any, Any, T]) -> T:
    """Start the event loop of a command, which takes over Ctrl-C only if Python's own handler is in place."""
    import signal  # loaded by now

    if signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run(work)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if _is_loading(frame):
        os._exit(INTERRUPTED)
    raise KeyboardInterrupt


def _is_loading(frame: FrameType | None) -> bool:
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


# ── what is said ─────────────────────────────────────────────────────────────────────────────────────────────────────

OPTIONS: Mapping[str, str] = {"--version": "Print the version", "--help": "Print this; also after a command"}
"""Of `weft` itself."""


def _print_version() -> int:
    print(f"weft {__version__}")
    return OK


def _report(failure: Exception, words: Sequence[str]) -> int | None:
    """Print the failure and the next step on stderr. None for a bug, which keeps its traceback."""
    from clawft.errors import ClawftError  # only if something went wrong

    if isinstance(failure, OSError):
        failure = _of_the_machine(failure) or failure
    if isinstance(failure, UnicodeEncodeError):
        failure = _of_words(words) or failure
    if not isinstance(failure, ClawftError):
        return None
    from clawft.cli.screen import safe, tell  # only if something went wrong
    from clawft.store.concealed_secrets import conceal

    tell(f"weft: {safe(conceal(failure.message))}")
    if failure.hint:
        tell(f"hint: {safe(conceal(failure.hint))}")
    return failure.exit_code


def _of_the_machine(failure: OSError) -> ClawftError | None:
    """An error of the machine, such as a full disk, and no bug of ours; None for any other."""
    import errno  # only if something went wrong

    from clawft.errors import ClawftError

    if failure.errno in (errno.EMFILE, errno.ENFILE):
        import warnings  # only if something went wrong

        warnings.simplefilter("ignore", RuntimeWarning)  # of a loop that could not be made
        return ClawftError(f"no more files can be opened: {failure.strerror}", hint="ulimit -n 1024")
    if failure.filename:  # a disk that is full, a home that belongs to somebody else
        return ClawftError(f"{failure.filename}: {failure.strerror}", hint="weft doctor")
    if failure.errno in (errno.ENOSPC, errno.EDQUOT):
        _nobody_reads()
        return ClawftError(f"the output cannot be written: {failure.strerror}", hint="make room where it is written")
    try:
        os.getcwd()
    except OSError:
        return ClawftError("the current folder does not exist any more", hint="cd to a folder that exists")
    return None


def _end_without_memory() -> NoReturn:
    """End at once, with a message that is already in memory: any other step may run out of memory again."""
    os.write(2, b"weft: there is not enough memory\nhint: end something else, or allow more: ulimit -v unlimited\n")
    os._exit(FAILED)


def _of_words(words: Sequence[str]) -> ClawftError | None:
    """The error for a word that is not text: file names may be any bytes, but what is sent or kept is text."""
    from clawft.cli.parser import WrongUsage  # only if something went wrong

    odd = next((word for word in words if any("\ud800" <= letter <= "\udfff" for letter in word)), None)
    return None if odd is None else WrongUsage(f"{odd!a} is not UTF-8 text")


def _nobody_reads() -> int:
    """End quietly when the reader of a pipe has gone (`| head -1`): Python would complain again on closing stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return OK
