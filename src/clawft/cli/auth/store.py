"""`weft auth store`: logins as files, or encrypted with a key in the keyring."""

from __future__ import annotations

from clawft.auth import encryption, login_storage
from clawft.cli.auth.logins import vault
from clawft.cli.parser import Options


def run(options: Options) -> int:
    own = vault()
    if options.form is None:
        print("keyring" if encryption.is_marked(own.folder) else "file")
        return 0
    change = login_storage.keep_in_keyring if options.form == "keyring" else login_storage.keep_in_files
    count = change(own)
    how = "encrypted with a key in the keyring" if options.form == "keyring" else "private files"
    print(f"logins are {how} now: {count} of them rewritten")
    return 0
