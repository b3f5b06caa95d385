"""Decides what is allowed: rules as pure functions over plain data. They decide and do nothing; guards act on their
verdicts.

| what is judged | where |
|---|---|
| a command line | `command`, a room of its own |
| an address | `url`, `url_rules`, `address` |
| what of them is in arguments | `arguments`, which `search` finds by `command_values` and `url_values` |
| a tool | `grant` says who sees it, by `globs`; `approval` whether it is still the one that was approved |
| its text | `pin`; `definition_texts` shows it; `scan` looks for text aimed at the model, also by `obfuscation` |
| prompts and resources, approved like tools | `pseudo_tools` |
| what may follow untrusted text | `exposure` |
| the start of a server | `launch` |
| a task that is handed over | `delegation` |

Where people keep their secrets, for the sandbox too, is the table of `secret_places`.

To add a rule: a function beside its kind, and a row in `RULES` of that file.
"""
