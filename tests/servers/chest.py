"""A keyring in a file, for the real `keyring` package: `PYTHON_KEYRING_BACKEND=tests.servers.chest.Chest`.

`CHEST` names the file; `CHEST_LOCKED` makes it refuse, as a locked keyring does.
"""

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

BACKEND = "tests.servers.chest.Chest"


class Chest(KeyringBackend):
    priority = 1  # pyright: ignore[reportAssignmentType]  # a class property in the package, a plain number in its docs

    def _entries(self) -> dict[str, str]:
        if os.environ.get("CHEST_LOCKED"):
            raise KeyringLocked("locked, and here is a secret: canary-of-the-chest")
        file = Path(os.environ["CHEST"])
        return json.loads(file.read_text()) if file.exists() else {}

    def get_password(self, service: str, username: str) -> str | None:
        return self._entries().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        entries = {**self._entries(), f"{service}/{username}": password}
        Path(os.environ["CHEST"]).write_text(json.dumps(entries))

    def delete_password(self, service: str, username: str) -> None:
        entries = self._entries()
        del entries[f"{service}/{username}"]
        Path(os.environ["CHEST"]).write_text(json.dumps(entries))
