"""Write every lock anew: `make lock`.

Python: requirements/*.txt, for all platforms at once, each file with its hashes. npm: the package-lock.json files.
No lock names a place to download from: that is the business of whoever installs.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
OLDEST_PYTHON = "3.11"
LOCK_SECONDS = 600

PYTHON_LOCKS = {
    "run": "pyproject.toml",  # first: the others are constrained by it
    "build": "requirements/build.in",
    "test": "requirements/test.in",
    "dev": "requirements/dev.in",
    "lock": "requirements/lock.in",
    "sdk1": "requirements/sdk1.in",
    "bench": "requirements/bench.in",  # the gateways of others, each with its own idea of the SDK
    "bench-proxy": "requirements/bench-proxy.in",
}
NPM_FOLDERS = ("tests/peers", "tests/editors", "tools/npm")
PLACES = ("resolved", "funding")
"""Keys of an npm lock that hold addresses; installing needs neither."""

COMPILE = (
    "pip", "compile", "--quiet", "--universal", "--python-version", OLDEST_PYTHON, "--generate-hashes",
    "--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links",
)  # fmt: skip  # one flag per line would hide that this is one command


def main(uv: str) -> int:
    for name, source in PYTHON_LOCKS.items():
        run([uv, *COMPILE, source, "--output-file", f"requirements/{name}.txt", "--upgrade"], ROOT)
    for folder in NPM_FOLDERS:
        lock_npm(ROOT / folder)
    addresses = list(find_addresses())
    print(*addresses, sep="\n", end="", file=sys.stderr)
    return 1 if addresses else 0


def run(argv: list[str], folder: Path) -> None:
    print(*argv)
    subprocess.run(argv, cwd=folder, timeout=LOCK_SECONDS, check=True)


def lock_npm(folder: Path) -> None:
    """Resolve in an empty folder: beside an installed tree npm leaves other platforms' packages out of the lock."""
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("package.json", ".npmrc"):
            shutil.copy(folder / name, scratch)
        run(["npm", "install", "--package-lock-only", "--ignore-scripts", "--loglevel=error"], Path(scratch))
        lock = Path(scratch) / "package-lock.json"
        forget_places(lock)
        shutil.copy(lock, folder)


def forget_places(lock: Path) -> None:
    content = json.loads(lock.read_text())
    for package in content["packages"].values():
        for key in PLACES:
            package.pop(key, None)
    lock.write_text(json.dumps(content, indent=2) + "\n")


def locks() -> Iterator[Path]:
    yield from (ROOT / "requirements" / f"{name}.txt" for name in PYTHON_LOCKS)
    yield from (ROOT / folder / "package-lock.json" for folder in NPM_FOLDERS)


def find_addresses() -> Iterator[str]:
    """Lines of a lock that point at a place."""
    for lock in locks():
        for number, line in enumerate(lock.read_text().splitlines(), start=1):
            if "://" in line or line.startswith("-"):
                yield f"{lock.relative_to(ROOT)}:{number}: {line.strip()}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
