"""Tables of the programs that run other programs or scripts: the one place to add such a program.

| table | for a program that |
|---|---|
| `WRAPPERS` | runs the words behind its own (`timeout 5 make`) |
| `SUBCOMMANDS` | does so behind words of its own (`git bisect run make test`) |
| `SCRIPT_RUNNERS` | is given a text: the value of an option, an operand, its input (`tar --to-command='gzip -d'`) |
| `RUN_VARIABLES` | runs what a variable says (`PAGER`, `GIT_SSH_COMMAND`) |

What runs in a container (`docker run`, `kubectl exec`) is not here: the paths of such a command are not ours.
"""

import re
from typing import Literal

from msgspec import Struct

Language = Literal["shell", "setting", "code", "lines", "sed", "make", "cron", "remote"]
"""How a script is to be read; `languages.py` has a function for each."""

SHELLS = frozenset("sh bash dash zsh ksh mksh ash fish csh tcsh rbash yash nu xonsh elvish".split())
INTERPRETERS = frozenset("python pypy perl ruby node nodejs deno bun php lua tclsh osascript pwsh powershell".split())
PRIVILEGE = frozenset("sudo su doas pkexec run0 runuser gosu su-exec sudoedit".split())

_PLAIN_WRAPPERS: tuple[str, ...] = tuple(
    "sudo doas pkexec run0 env nohup command builtin exec time gtime coproc nice ionice stdbuf setsid busybox toybox"
    " xargs gxargs unshare nsenter strace ltrace caffeinate systemd-run parallel fakeroot firejail unbuffer rlwrap"
    " watch entr xvfb-run dbus-run-session torsocks proxychains proxychains4 npx bunx setpriv prlimit linux32 linux64"
    " valgrind catchsegv ssh-agent tini dumb-init proot capsh cpulimit numactl softlimit chpst daemonize eatmydata"
    " choom uclampset chronic catatonit winpty runuser cross-env cross-env-shell watchexec wsl".split()
)
_WRAPPERS_WITH_OPERAND: tuple[str, ...] = tuple(
    "timeout gtimeout chroot flock chrt taskset gosu su-exec ssh setarch script sg setuidgid s6-setuidgid faketime"
    " perf".split()
)
WRAPPERS: dict[str, int] = {**dict.fromkeys(_PLAIN_WRAPPERS, 0), **dict.fromkeys(_WRAPPERS_WITH_OPERAND, 1)}
"""Programs that run the words after them, and how many operands of their own come first."""

SUBCOMMANDS: dict[str, int] = {
    "git bisect run": 0,
    "git submodule foreach": 0,
    "cmake -E": 0,
    "ip netns exec": 1,
    "machinectl shell": 1,
    "xterm -e": 0,
    "konsole -e": 0,
    "alacritty -e": 0,
    "gnome-terminal --": 0,
    "bwrap --": 0,
    "gdb --args": 0,
    "rustup run": 1,
    "screen -dm": 0,
    "screen -dms": 1,
    "tmux new-session": 0,
    "tmux new": 0,
    "tmux new-window": 0,
    "tmux neww": 0,
    "tmux split-window": 0,
    "npm exec": 0,
    "pnpm exec": 0,
    "pnpm dlx": 0,
    "yarn exec": 0,
    "yarn dlx": 0,
    "bun x": 0,
    "uv run": 0,
    "poetry run": 0,
    "pipenv run": 0,
    "pdm run": 0,
    "hatch run": 0,
    "rye run": 0,
    "bundle exec": 0,
    "conda run": 0,
    "mise exec": 0,
    "asdf exec": 0,
    "direnv exec": 1,
    "rbenv exec": 0,
    "pyenv exec": 0,
    "nix develop -c": 0,
    "nix develop --command": 0,
    "nix shell -c": 0,
    "just -c": 0,
    "just --command": 0,
    "dotenv run": 0,
    "op run": 0,
    "doppler run": 0,
    "aws-vault exec": 1,
}
"""Subcommands after which another program follows, and how many operands come first."""

SUBCOMMANDS_OF: dict[str, list[str]] = {}
for _words in SUBCOMMANDS:
    SUBCOMMANDS_OF.setdefault(_words.partition(" ")[0], []).append(_words)

FOLDER_OPTIONS: dict[str, str] = {"env": "-C --chdir", "sudo": "-D --chdir"}
"""Options of a wrapper that set the folder the program runs in."""


class ScriptRunner(Struct, frozen=True):
    """Where these programs take a script from. All names are separated by blanks."""

    programs: str
    language: Language
    options: str = ""
    """Options whose value is a script."""
    operands: Literal["", "first", "all", "joined"] = ""
    """Whether the first operand is a script, each of them, or all of them joined."""
    under: str = ""
    """Only after one of these subcommands: `rebase` for `git rebase -x`."""
    stdin: bool = False
    """Whether standard input is a script as well."""


SCRIPT_RUNNERS: tuple[ScriptRunner, ...] = (
    # ── of the shell itself, and what runs its operands as commands ──
    ScriptRunner("eval ssh watch parallel", "shell", operands="joined"),
    ScriptRunner("trap", "shell", operands="first"),
    ScriptRunner("alias", "setting", operands="all"),
    ScriptRunner("tmux hyperfine entr parallel screen concurrently", "shell", operands="all"),
    ScriptRunner("at batch newgrp", "shell", stdin=True),
    ScriptRunner("crontab", "cron", stdin=True),
    # ── options of everyday programs ──
    ScriptRunner("su runuser flock script sg npx npm capsh", "shell", options="-c --command --call --session-command"),
    ScriptRunner("pwsh powershell", "shell", options="-c -Command -command --command"),
    ScriptRunner("nix-shell", "shell", options="--run --command"),
    ScriptRunner("tar gtar bsdtar", "shell", options="-I -F --to-command --use-compress-program --info-script"),
    ScriptRunner("tar gtar bsdtar", "shell", options="--new-volume-script --rsh-command"),
    ScriptRunner("tar gtar", "setting", options="--checkpoint-action"),
    ScriptRunner("zip", "shell", options="-TT --unzip-command"),
    ScriptRunner("man", "shell", options="-P -H --pager --html"),
    ScriptRunner("wget", "shell", options="--use-askpass"),
    ScriptRunner("rsync", "shell", options="-e --rsh --rsync-path"),
    ScriptRunner("scp sftp", "shell", options="-S -D"),
    ScriptRunner("ssh scp sftp", "setting", options="-o"),
    ScriptRunner("nc ncat netcat", "shell", options="-e -c --exec --sh-exec --lua-exec"),
    ScriptRunner("socat", "setting", operands="all"),
    ScriptRunner("xterm", "shell", options="-e"),
    ScriptRunner("nodemon chokidar", "shell", options="-x -c --exec --command"),
    ScriptRunner("go", "shell", options="-exec -toolexec"),
    ScriptRunner("cargo", "shell", options="-s", under="watch"),
    ScriptRunner("cargo", "setting", options="--config"),
    ScriptRunner("npm pnpm yarn", "shell", options="--script-shell"),
    ScriptRunner("make gmake", "make", options="--eval", stdin=True),
    ScriptRunner("make gmake", "setting", operands="all"),
    ScriptRunner("rustc", "setting", options="-C"),
    # ── git ──
    ScriptRunner("git", "setting", options="-c"),
    ScriptRunner("git", "remote", operands="all"),
    ScriptRunner("git", "shell", operands="all", under="config foreach"),
    ScriptRunner("git", "shell", options="-u --upload-pack --receive-pack", under="clone fetch pull push ls-remote"),
    ScriptRunner("git", "shell", options="--exec", under="archive"),
    ScriptRunner("git", "shell", options="-x --exec", under="rebase"),
    ScriptRunner("git", "shell", options="-x --extcmd", under="difftool"),
    ScriptRunner("git", "shell", options="-O --open-files-in-pager", under="grep"),
    ScriptRunner(
        "git", "shell", options="--tree-filter --index-filter --msg-filter --env-filter", under="filter-branch"
    ),
    ScriptRunner("git", "shell", options="--commit-filter --parent-filter --tag-name-filter", under="filter-branch"),
    # ── editors, debuggers and databases: a line of their own may run a command ──
    ScriptRunner("vim vi nvim gvim view ex", "lines", options="-c --cmd", operands="all", stdin=True),
    ScriptRunner("ed", "lines", stdin=True),
    ScriptRunner("less more", "lines", operands="all"),
    ScriptRunner("gdb", "lines", options="-ex -iex --ex --iex --eval-command --init-eval-command", stdin=True),
    ScriptRunner("lldb", "lines", options="-o -O --one-line --one-line-before-file", stdin=True),
    ScriptRunner("sqlite3", "lines", options="-cmd --cmd", operands="all", stdin=True),
    ScriptRunner("psql", "lines", options="-c --command", stdin=True),
    ScriptRunner("mysql mariadb", "lines", options="-e --execute", stdin=True),
    ScriptRunner("expect tclsh", "lines", options="-c", stdin=True),
    # ── code ──
    ScriptRunner("sed gsed", "sed", options="-e --expression", operands="first"),
    ScriptRunner("awk gawk mawk nawk", "code", options="-e --source", operands="first", stdin=True),
    ScriptRunner("python pypy", "code", options="-c"),
    ScriptRunner("perl", "code", options="-e -E"),
    ScriptRunner("ruby lua osascript julia rscript r", "code", options="-e"),
    ScriptRunner("node nodejs bun", "code", options="-e -p --eval --print"),
    ScriptRunner("deno", "code", operands="joined", under="eval"),
    ScriptRunner("php", "code", options="-r -B -R -E"),
    ScriptRunner("emacs", "code", options="--eval --execute"),
    ScriptRunner("pwsh powershell", "code", options="-c -Command -command --command"),
)


def _by_program() -> dict[str, list[ScriptRunner]]:
    found: dict[str, list[ScriptRunner]] = {}
    for runner in SCRIPT_RUNNERS:
        for program in runner.programs.split():
            found.setdefault(program, []).append(runner)
    return found


SCRIPT_RUNNERS_OF = _by_program()

RUN_VARIABLES = re.compile(
    r"GIT_(?!AUTHOR_|COMMITTER_)\w+|\w*(?:PAGER|EDITOR|ASKPASS|_RSH|_COMMAND)|VISUAL|BROWSER|LESSOPEN|LESSCLOSE|PS[04]"
)
"""Environment variables whose value some program runs as a command."""
