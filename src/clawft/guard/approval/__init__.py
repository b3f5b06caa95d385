"""Approval: the person decides about each tool of an untrusted server, and again when its definition changes.

| what | where |
|---|---|
| the guard: the step of a call, and what lists show meanwhile | `guard` |
| a use that nobody has let through yet: it goes on, is refused, or the person is asked | `first_use` |
| of calls at once, which asks, and what the others go by | `turns` |
| what servers offer now, and how that stands in the book | `offers` |
| the words of a question, of its answers and of a refusal | `consent` |
| how foreign text stands in a question, and what of a long one | `excerpt` |
| the book, which is a file | `book` |

What an approval is and covers is decided in `policy/approval`.
"""
