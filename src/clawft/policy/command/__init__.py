"""Command lines: read as a shell would, and judged by named rules. No shell and no program is asked.

| what | where |
|---|---|
| may this line run? | `decision`, by the rules of `rules` |
| its words, as a shell splits them | `lexer`; what names and braces stand for: `expansion` |
| the commands of a line | `shell`, as `parsed_command` |
| the program each of them runs in the end | `program`, behind wrappers and inner shells |
| programs that run what their arguments say | `carriers` is the table, `carried` reads by it |
| texts in other languages | `languages` brings them to commands; `code` for inline code |
| what a line says, writes, downloads, hands to others | `speech`, `written`, `download`, `remote` |
| a word that names a file | `place` |

To add a rule: a function and a row in `RULES` of `rules`. To add a program that runs others: a row in `carriers`.
"""
