"""What is allowed: rules as pure functions over plain data. They decide and do nothing; guards act on what they say.

A command line is read by `lexer`, `shell` and `program`, and judged by `command_rules`; an address by `url_rules`, a
tool by `grant` and `approval`. To add a rule: a function beside its kind, and a row in `RULES` of that file.
"""
