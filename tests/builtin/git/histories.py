"""Repositories made by chance, the same ones each time: histories with everything that is hard to read."""

import os
import random
from collections.abc import Callable
from pathlib import Path

from tests.builtin.git.plain import EMAIL, NAME, git, new, save

KINDS = ("plain", "merges", "empty", "detached", "submodule", "worktree", "unborn", "crlf", "sha256", "conflict")
NAMES = (
    b"a.txt",
    b"b.txt",
    b"dir/c.txt",
    b"dir/deep/d.txt",
    b"with blank",
    b"-dash",
    b'quo"te',
    b"tab\there",
    b"line\nbreak",
    "ünï-コード".encode(),
    b"back\\slash",
    b"a -> b",
    b"latin\xe9",
    b"*star?[x]",
    b":colon",
    b"R100",
    b":100644 000000 x",
    b"diff --git a b",
)  # fmt: skip - a list of words
LINES = (
    b"one",
    b"two",
    b"",
    b"@@ -1 +1 @@",
    b"diff --git a/x b/x",
    b"--- a",
    b"+++ b",
    b"\ttab",
    b"\xff\xfe",
    b"-",
    b"+",
    b"\\ no",
)


class History:
    """One repository in `workspace`; `repo` is where to look at it."""

    def __init__(self, workspace: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.kind = KINDS[seed % len(KINDS)]
        self.name = f"h{seed}"
        self.repo = new(workspace / self.name, *(["--object-format=sha256"] if self.kind == "sha256" else []))
        if self.kind != "empty":
            git(self.repo, "fast-import", "--quiet", "--force", stdin=self.stream())
            git(self.repo, "reset", "--quiet", "--hard")
        make: Callable[[Path], None] | None = getattr(self, f"make_{self.kind}", None)
        if make is not None:
            make(workspace)
        self.disturb()

    # ── history ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def stream(self) -> bytes:
        """Commits on main and topic for `git fast-import`; merges where the kind wants them."""
        parts: list[bytes] = []
        files: dict[str, set[bytes]] = {"main": set(), "topic": set()}
        begun: set[str] = set()
        for number in range(self.chance.randint(3, 12)):
            branch = "topic" if "main" in begun and self.chance.random() < 0.3 else "main"
            parts.append(self.commit(branch, number, begun, files))
            begun.add(branch)
        return b"".join(parts)

    def commit(self, branch: str, number: int, begun: set[str], files: dict[str, set[bytes]]) -> bytes:
        message = self.chance.choice(
            (f"commit {number}", f"first line {number}\n\nbody\n", f"ü {number}\n\n\n# x\n")
        ).encode()
        who = f"{NAME} <{EMAIL}> {1_700_000_000 + number} +0100\n".encode()
        head = b"commit refs/heads/%s\nauthor %scommitter %sdata %d\n%s\n" % (
            branch.encode(),
            who,
            who,
            len(message),
            message,
        )
        if branch not in begun and branch == "topic":
            head += b"from refs/heads/main\n"
            files["topic"] = set(files["main"])
        elif self.kind == "merges" and len(begun) == 2 and self.chance.random() < 0.5:
            other = "main" if branch == "topic" else "topic"
            head += b"merge refs/heads/%s\n" % other.encode()
        return head + b"".join(self.change(files[branch]) for _ in range(self.chance.randint(1, 4))) + b"\n"

    def change(self, present: set[bytes]) -> bytes:
        action = self.chance.random()
        if present and action < 0.15:
            name = self.chance.choice(sorted(present))
            present.discard(name)
            return b"D %s\n" % quoted(name)
        if present and action < 0.3:
            old, name = self.chance.choice(sorted(present)), self.chance.choice(NAMES)
            if name not in present:
                present.discard(old)
                present.add(name)
                return b"R %s %s\n" % (quoted(old), quoted(name))
        name, data = self.chance.choice(NAMES), self.content()
        present.add(name)
        mode = self.chance.choice((b"100644", b"100644", b"100755"))
        return b"M %s inline %s\ndata %d\n%s\n" % (mode, quoted(name), len(data), data)

    def content(self) -> bytes:
        if self.chance.random() < 0.15:
            return bytes(self.chance.randrange(256) for _ in range(50)) + b"\0"
        end = b"\r\n" if self.kind == "crlf" and self.chance.random() < 0.5 else b"\n"
        body = end.join(self.chance.choice(LINES) for _ in range(self.chance.randint(1, 30)))
        return body + (end if self.chance.random() < 0.8 else b"")

    # ── what the kinds add ───────────────────────────────────────────────────────────────────────────────────────────

    def make_detached(self, workspace: Path) -> None:
        git(self.repo, "switch", "--quiet", "--detach", "HEAD")

    def make_unborn(self, workspace: Path) -> None:
        git(self.repo, "switch", "--quiet", "--orphan", "fresh")

    def make_worktree(self, workspace: Path) -> None:
        git(self.repo, "worktree", "add", "--quiet", "-b", "other", str(workspace / f"{self.name}w"))
        self.repo, self.name = workspace / f"{self.name}w", f"{self.name}w"

    def make_submodule(self, workspace: Path) -> None:
        inner = new(workspace / f"{self.name}i")
        save(inner, s_txt="s\n")
        git(self.repo, "submodule", "--quiet", "add", str(inner), "sub")
        save(self.repo, "with submodule")
        if self.chance.random() < 0.5:
            save(self.repo / "sub", "moved", s_txt="t\n")

    def make_crlf(self, workspace: Path) -> None:
        (self.repo / ".gitattributes").write_text(
            self.chance.choice(("* text=auto\n", "*.txt eol=crlf\n", "* -text\n"))
        )

    def make_conflict(self, workspace: Path) -> None:
        git(self.repo, "switch", "--quiet", "--create", "side")
        save(self.repo, zz_txt="side\n")
        git(self.repo, "switch", "--quiet", "main")
        save(self.repo, zz_txt="main\n")
        git(self.repo, "merge", "--quiet", "side", ok=False)

    # ── the work tree ────────────────────────────────────────────────────────────────────────────────────────────────

    def disturb(self) -> None:
        """Change, delete, add, rename; stage some of it."""
        root = os.fsencode(self.repo)
        tracked = [name for name in git(self.repo, "ls-files", "-z").split(b"\0") if name]
        for name in tracked:
            place, action = os.path.join(root, name), self.chance.random()
            if name in (b"sub", b"zz.txt") or not os.path.isfile(place) or os.path.islink(place):
                continue
            if action < 0.15:
                os.unlink(place)
            elif action < 0.25:
                os.unlink(place)
                os.symlink(b"target", place)
            elif action < 0.35:
                os.chmod(place, 0o755)
            elif action < 0.5:
                os.rename(place, place + b" moved")
            elif action < 0.75:
                write(place, self.content())
        for name in self.chance.sample(NAMES, 3):
            if not os.path.lexists(os.path.join(root, name)):
                write(os.path.join(root, name), self.content())
        if self.kind != "conflict" and self.chance.random() < 0.6:
            git(self.repo, "add", "--all", *self.chance.choice((["."], ["--", "dir"], ["--", "a.txt"])), ok=False)
            write(os.path.join(root, b"a.txt"), self.content())


def quoted(name: bytes) -> bytes:
    escaped = name.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n").replace(b"\t", b"\\t")
    return b'"' + escaped + b'"'


def write(place: bytes, data: bytes) -> None:
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if os.path.islink(place):
        os.unlink(place)
    with open(place, "wb") as file:
        file.write(data)
