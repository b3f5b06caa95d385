"""The command `weft`: from words on a command line to an exit code.

| what | where |
|---|---|
| finds the command and runs it | `main`, by the table `COMMANDS` |
| what is typed | `parser`: options, mistakes, arguments of tools; `other_words`: commands of other programs |
| what is shown and asked | `screen` |
| settings, and an app to work with | `setup`, with `start_servers` and `trace` |
| what Tab offers | `completion` |
| serving | `mcp_server`, `gateway`, `serve_model` |
| what is offered | `tools`, `resources`, `prompts` |
| tasks | `agent` |
| servers | `servers` |
| approvals | `approvals` |
| logins | `auth` |
| settings and rules | `config`, `policy` |
| the record of calls | `audit` |
| what is in order | `doctor` |
| help, with lines to try | `help`, `examples` |

A command is a folder. What its verbs take, `VERBS`, stands in its `__init__` and imports little but `parser`, so that
help, Tab and mistakes are quick; what a verb does is a module with `run` and ordinary imports, which is loaded when the
verb runs. An import inside a function says what makes it rare. To add a command: such a folder, a row in `COMMANDS`,
and lines in `examples`.
"""
