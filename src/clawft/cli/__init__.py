"""The command `weft`: from words on a command line to an exit code.

`main` finds the command in `COMMANDS` and runs it; a command is a module with `VERBS`. What a person sees passes
through `screen` and `table`, what they type through `parser`. To add a command: a module with `VERBS`, a row in
`COMMANDS`, and lines to try in `examples`.
"""
