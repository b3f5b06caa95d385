"""The command `weft`: from words on a command line to an exit code.

| what | where |
|---|---|
| finds the command and runs it | `main`, by the table `COMMANDS` |
| what is typed | `parser`: options, mistakes, arguments of tools |
| what is shown and asked | `screen` |
| settings, and an app to work with | `house`, with `start_servers` and `trace` |
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
| lines to try | `examples` |

A command is a module with `VERBS`; it loads what it needs when it runs, so that help and a start are quick. To add one:
such a module, a row in `COMMANDS`, and lines in `examples`.
"""
