"""Scans a folder for files of a kind, and compares two scans, as nothing reports changes."""

import os
from collections.abc import Collection, Mapping

from clawft.builtin.ide.lsp.server_table import suffix_of

CREATED, CHANGED, DELETED = 1, 2, 3
"""The protocol's numbers for changes of a file."""
MAX_FILES = 20_000
MAX_FOLDERS = 5_000
SKIPPED = frozenset(
    {".git", ".hg", "node_modules", ".venv", "venv", "__pycache__", "target", "dist", ".tox", ".clawft"}
)

FileStamps = Mapping[str, tuple[int, int]]


def look(folder: str, suffixes: Collection[str]) -> FileStamps:
    """All files with such a suffix, with time and size; symlinks are not followed."""
    found: dict[str, tuple[int, int]] = {}
    todo, visited = [folder], 0
    while todo and visited < MAX_FOLDERS and len(found) < MAX_FILES:
        visited += 1
        try:
            entries = list(os.scandir(todo.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in SKIPPED:
                    todo.append(entry.path)
            elif suffix_of(entry.name) in suffixes and entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                found[entry.path] = status.st_mtime_ns, status.st_size
    return found


def differences(before: FileStamps, after: FileStamps) -> dict[str, int]:
    made = dict.fromkeys(after.keys() - before.keys(), CREATED)
    gone = dict.fromkeys(before.keys() - after.keys(), DELETED)
    written = {path: CHANGED for path in after.keys() & before.keys() if after[path] != before[path]}
    return {**made, **written, **gone}
