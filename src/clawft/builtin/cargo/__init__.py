"""The cargo family: build, test, lint and publish Rust crates.

| what | where |
|---|---|
| its tools; what they take, give back and may touch | `tools`; `family` |
| one call | `run`: `arguments` for cargo, in its `cell`; `publish` to a `registry` |
| what cargo says | `parser`, of `messages`, `libtest` and `stderr` |
| cargo in declared tasks | `runner`, its row among the builders |

To add a tool: a function in `tools`, and a row in `tools_with`.
"""
