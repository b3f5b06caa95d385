"""Keeps values by key, the journal behind the audit, secrets by reference; and files for their owner alone.

| what | where |
|---|---|
| our folder, and files in it | `home`; `private_files`, written whole; `file_locks`; `names` for any text |
| values by key | `base` is the promise, `entry` what is kept; in `files` or in `memory` |
| the audit | `journal`, a `chain` with its `link_file`; `journal_reading` checks it, `journal_tail` reads its end |
| secrets | `secrets` resolves them, with `secret_command`; `concealed_secrets` takes them out of what we say |
| results that were cut | `cut_results` |
| TOML | `document` |
| what is not installed | `extras` |

To add a store: a class with the methods of `base.KeyValueStore`. To add a kind of secret: a row in `_SOURCES` of
`secrets`.
"""
