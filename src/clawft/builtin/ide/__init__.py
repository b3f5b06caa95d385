"""The ide family: edits, diagnoses and navigates code live, in VS Code, Neovim, or by language servers alone.

| what | where |
|---|---|
| the tools, which know no editor | `query_tools`, `change`, `window_tools`; listed in `tools`, on top of `family` |
| the family as a provider | `provider`, with its `resources` |
| what every editor can do | `connection`; `lsp`, `nvim` and `vscode` (both `remote`) do it, and `mock` in tests |
| who is here, and whom a call goes to | `hub` |
| what is spoken about | `model`; `text` for places in it, `paths` for files that may be |
| a proposal before a person | `review` |

To add a tool: a `partial_tool` beside its kind, and a row in `tools.PARTIAL_TOOLS`. To add an editor: a folder whose
`backend` keeps the promise of `connection`, and whoever brings it to the hub in `provider`.
"""
