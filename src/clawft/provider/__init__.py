"""Providers, the sources of tools: `base` says what one is, and the rest implements providers or helps to.

| what | where |
|---|---|
| functions of this process | `function`: `@tool`, `FunctionProvider`; `definition` and `schema` are what one says |
| types that are not msgspec's | `foreign`: paths, models of pydantic; `defaults` of dataclasses, which are so in part |
| what one gets and gives | `context`, from a `thread` too; `result`, what of it may be cut (`keeps`), and its `texts` |
| arguments that are wrong | `explain` |
| what a function lets out | `failure`; `promise`: what it returned and should not have |
| external servers | `server` |
| packages of others | `registry` finds them by their entry points |
| what a family may touch | `manifest` |

To add tools of your own: a function with `@tool`. To add a kind of source: a class with the methods of `base.Provider`.
"""
