"""A repository prepared by somebody who wants to run programs on our machine. Each of them leaves a mark."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from tests.builtin.git.plain import git, new, save

HOOKS = (
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "push-to-checkout",
    "reference-transaction",
)  # fmt: skip - a list of words

REFUSED_KEYS = (
    "include.path",
    "includeIf.onbranch:main.path",
    "hook.mine.command",
    "url.https://evil.example/.insteadOf",
    "url.https://evil.example/.pushInsteadOf",
    "http.proxy",
    "http.https://github.com/.sslVerify",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "remote.origin.vcs",
    "remote.origin.proxy",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "fetch.bundleURI",
    "merge.evil.driver",
    "gpg.program",
    "gpg.ssh.program",
    "branch.main.mergeOptions",
)
"""What cannot be made harmless."""


class Poisoned:
    """`repo` starts whatever it can; `started()` names what did."""

    def __init__(self, workspace: Path, folder: Path) -> None:
        self.folder = folder
        self.marks = folder / "marks"
        self.marks.mkdir(parents=True)
        self.repo = self._build(workspace)
        self.forget()

    def started(self) -> set[str]:
        return {mark.name for mark in self.marks.iterdir()}

    def forget(self) -> None:
        for mark in self.marks.iterdir():
            mark.unlink()

    def program(self, name: str, then: str = "cat") -> str:
        """A program that leaves a mark."""
        path = self.folder / f"{name}.sh"
        path.write_text(f"#!/bin/sh\ntouch '{self.marks}/{name}'\n{then}\n")
        path.chmod(0o755)
        return str(path)

    def keys(self, prefix: str) -> dict[str, str]:
        """Configuration that starts programs while nothing but this machine is involved."""

        def mark(name: str, then: str = "cat") -> str:
            return self.program(f"{prefix}{name}", then)

        return {
            "core.fsmonitor": mark("fsmonitor", "exit 1"),
            "core.pager": mark("pager"),
            "pager.log": mark("pager-log"),
            "core.editor": mark("editor", "true"),
            "sequence.editor": mark("sequence-editor", "true"),
            "core.askPass": mark("askpass", "true"),
            "core.sshCommand": mark("ssh", "exit 1"),
            "credential.helper": mark("credential", "exit 0"),
            "credential.https://github.com.helper": mark("credential-url", "exit 0"),
            "diff.external": mark("diff-external", "true"),
            "diff.evil.textconv": mark("textconv", 'cat "$1"'),
            "diff.evil2.command": mark("diff-command", "true"),
            "filter.evil.clean": mark("clean"),
            "filter.evil.smudge": mark("smudge"),
            "filter.evil.required": "true",
            "filter.with=sign.clean": mark("clean-odd"),
            "filter.with=sign.smudge": mark("smudge-odd"),
            "filter.long.process": mark("process", "exit 1"),
            "commit.gpgSign": "true",
            "tag.gpgSign": "true",
            "push.gpgSign": "true",
            "log.showSignature": "true",
            "user.signingKey": "x",
            "alias.status": "!" + mark("alias"),
            "alias.log": "!" + mark("alias-log"),
            "submodule.recurse": "true",
            "gc.auto": "1",
            "gc.autoDetach": "false",
            "protocol.ext.allow": "always",
            "protocol.file.allow": "always",
            "protocol.allow": "always",
        }

    def _build(self, workspace: Path) -> Path:
        repo = new(workspace / "poisoned")
        save(repo, a_txt="one\n", b_bin="x\n", c_dat="c\n", d_odd="d\n")
        git(repo, "branch", "other")
        save(repo, a_txt="two\n")
        self._add_submodule(workspace, repo)
        git(workspace, "clone", "--quiet", "--bare", str(repo), "origin.git")
        git(repo, "remote", "add", "origin", str(workspace / "origin.git"))
        (repo / "a.txt").write_text("three\n")
        (repo / "b.bin").write_text("y\n")
        (repo / "c.dat").write_text("z\n")
        (repo / "d.odd").write_text("z\n")
        (repo / ".gitattributes").write_text("*.txt filter=evil diff=evil\n*.bin diff=evil2\n*.dat filter=long\n")
        (repo / ".git/info/attributes").write_text("*.odd filter=with=sign\n")
        self.infect(repo, "")
        return repo

    def infect(self, repo: Path, prefix: str, git_dir: str = ".git") -> None:
        """Configuration and hooks. Written last, so that building starts nothing."""
        folder = repo / git_dir
        for key, value in self.keys(prefix).items():
            git(repo, "config", "--file", str(folder / "config"), key, value)
        (folder / "hooks").mkdir(exist_ok=True)
        for name in HOOKS:
            shutil.copy(self.program(f"{prefix}hook-{name}", "exit 0"), folder / "hooks" / name)

    def _add_submodule(self, workspace: Path, repo: Path) -> None:
        """A submodule with changes of its own, and as poisonous."""
        inner = new(workspace / "inner")
        save(inner, s_txt="s\n")
        git(repo, "submodule", "--quiet", "add", str(inner), "sub")
        save(repo, "with submodule")
        (repo / "sub/s.txt").write_text("changed\n")
        (repo / "sub/.gitattributes").write_text("*.txt filter=evil diff=evil\n")
        self.infect(repo, "sub-", ".git/modules/sub")


def add_key(repo: Path, key: str, value: str) -> None:
    """Straight into the file: git itself would follow some of these while writing."""
    section, _, rest = key.partition(".")
    name, _, last = rest.rpartition(".")
    head = f'[{section} "{name}"]' if name else f"[{section}]"
    with (repo / ".git/config").open("a") as file:
        file.write(f"{head}\n\t{last or rest} = {value}\n")


def without(repo: Path, keys: Iterable[str]) -> None:
    for key in keys:
        git(repo, "config", "--file", str(repo / ".git/config"), "--unset-all", key, ok=False)
