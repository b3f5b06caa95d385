"""Which programs run others, and how they name them: the one place to add such a program.

| table | for a program that |
|---|---|
| `WRAPPERS` | runs the words behind its own (`timeout 5 make`) |
| `SUBCOMMANDS` | does so behind words of its own (`git bisect run make test`) |
| `CARRIERS` | is given a text: the value of an option, an operand, its input (`tar --to-command='gzip -d'`) |
| `RUN_VARIABLES` | runs what a variable says (`PAGER`, `GIT_SSH_COMMAND`) |

What runs in a container (`docker run`, `kubectl exec`) is not here: the paths of such a command are not ours.
"""

import re
from typing import Literal

from msgspec import Struct

Language = Literal["shell", "setting", "code", "lines", "sed", "make", "cron", "remote"]
"""How the text is to be read; `languages.py` knows each."""

SHELLS = frozenset("sh bash dash zsh ksh mksh ash fish csh tcsh rbash".split())
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
"""Programs that run what follows them, and how many words of their own come first (options aside)."""

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
    "dotenv run": 0,
    "op run": 0,
    "doppler run": 0,
    "aws-vault exec": 1,
}
"""Programs with words of theirs behind which another program stands, and how many operands come first."""

SUBCOMMANDS_OF: dict[str, list[str]] = {}
for _words in SUBCOMMANDS:
    SUBCOMMANDS_OF.setdefault(_words.partition(" ")[0], []).append(_words)

FOLDER_OPTIONS: dict[str, str] = {"env": "-C --chdir", "sudo": "-D --chdir"}
"""Where a wrapper has the program run."""


class Carrier(Struct, frozen=True):
    """Where programs find a text that they run. All names are separated by blanks."""

    programs: str
    language: Language
    options: str = ""
    """Options whose value it is."""
    operands: Literal["", "first", "all", "joined"] = ""
    """Is it the first operand, is each of them one, or all of them together?"""
    under: str = ""
    """Only behind one of these words: `rebase` for `git rebase -x`."""
    stdin: bool = False
    """Is its standard input one as well?"""


CARRIERS: tuple[Carrier, ...] = (
    # ── of the shell itself, and what runs its operands as commands ──
    Carrier("eval ssh watch parallel", "shell", operands="joined"),
    Carrier("trap", "shell", operands="first"),
    Carrier("alias", "setting", operands="all"),
    Carrier("tmux hyperfine entr parallel screen concurrently", "shell", operands="all"),
    Carrier("at batch newgrp", "shell", stdin=True),
    Carrier("crontab", "cron", stdin=True),
    # ── options of everyday programs ──
    Carrier("su runuser flock script sg npx npm capsh", "shell", options="-c --command --call --session-command"),
    Carrier("pwsh powershell", "shell", options="-c -Command -command --command"),
    Carrier("nix-shell", "shell", options="--run --command"),
    Carrier("tar gtar bsdtar", "shell", options="-I -F --to-command --use-compress-program --info-script"),
    Carrier("tar gtar bsdtar", "shell", options="--new-volume-script --rsh-command"),
    Carrier("tar gtar", "setting", options="--checkpoint-action"),
    Carrier("zip", "shell", options="-TT --unzip-command"),
    Carrier("man", "shell", options="-P -H --pager --html"),
    Carrier("wget", "shell", options="--use-askpass"),
    Carrier("rsync", "shell", options="-e --rsh --rsync-path"),
    Carrier("scp sftp", "shell", options="-S -D"),
    Carrier("ssh scp sftp", "setting", options="-o"),
    Carrier("nc ncat netcat", "shell", options="-e -c --exec --sh-exec --lua-exec"),
    Carrier("socat", "setting", operands="all"),
    Carrier("xterm", "shell", options="-e"),
    Carrier("nodemon chokidar", "shell", options="-x -c --exec --command"),
    Carrier("go", "shell", options="-exec -toolexec"),
    Carrier("cargo", "shell", options="-s", under="watch"),
    Carrier("cargo", "setting", options="--config"),
    Carrier("npm pnpm yarn", "shell", options="--script-shell"),
    Carrier("make gmake", "make", options="--eval", stdin=True),
    Carrier("make gmake", "setting", operands="all"),
    Carrier("rustc", "setting", options="-C"),
    # ── git ──
    Carrier("git", "setting", options="-c"),
    Carrier("git", "remote", operands="all"),
    Carrier("git", "shell", operands="all", under="config foreach"),
    Carrier("git", "shell", options="-u --upload-pack --receive-pack", under="clone fetch pull push ls-remote"),
    Carrier("git", "shell", options="--exec", under="archive"),
    Carrier("git", "shell", options="-x --exec", under="rebase"),
    Carrier("git", "shell", options="-x --extcmd", under="difftool"),
    Carrier("git", "shell", options="-O --open-files-in-pager", under="grep"),
    Carrier("git", "shell", options="--tree-filter --index-filter --msg-filter --env-filter", under="filter-branch"),
    Carrier("git", "shell", options="--commit-filter --parent-filter --tag-name-filter", under="filter-branch"),
    # ── editors, debuggers and databases: a line of their own may run a command ──
    Carrier("vim vi nvim gvim view ex", "lines", options="-c --cmd", operands="all", stdin=True),
    Carrier("ed", "lines", stdin=True),
    Carrier("less more", "lines", operands="all"),
    Carrier("gdb", "lines", options="-ex -iex --ex --iex --eval-command --init-eval-command", stdin=True),
    Carrier("lldb", "lines", options="-o -O --one-line --one-line-before-file", stdin=True),
    Carrier("sqlite3", "lines", options="-cmd --cmd", operands="all", stdin=True),
    Carrier("psql", "lines", options="-c --command", stdin=True),
    Carrier("mysql mariadb", "lines", options="-e --execute", stdin=True),
    Carrier("expect tclsh", "lines", options="-c", stdin=True),
    # ── code ──
    Carrier("sed gsed", "sed", options="-e --expression", operands="first"),
    Carrier("awk gawk mawk nawk", "code", options="-e --source", operands="first", stdin=True),
    Carrier("python pypy", "code", options="-c"),
    Carrier("perl", "code", options="-e -E"),
    Carrier("ruby lua osascript julia rscript r", "code", options="-e"),
    Carrier("node nodejs bun", "code", options="-e -p --eval --print"),
    Carrier("deno", "code", operands="joined", under="eval"),
    Carrier("php", "code", options="-r -B -R -E"),
    Carrier("emacs", "code", options="--eval --execute"),
    Carrier("pwsh powershell", "code", options="-c -Command -command --command"),
)


def _by_program() -> dict[str, list[Carrier]]:
    found: dict[str, list[Carrier]] = {}
    for carrier in CARRIERS:
        for program in carrier.programs.split():
            found.setdefault(program, []).append(carrier)
    return found


CARRIERS_OF = _by_program()

RUN_VARIABLES = re.compile(
    r"GIT_(?!AUTHOR_|COMMITTER_)\w+|\w*(?:PAGER|EDITOR|ASKPASS|_RSH|_COMMAND)|VISUAL|BROWSER|LESSOPEN|LESSCLOSE|PS[04]"
)
"""Variables whose value programs run as a command."""
