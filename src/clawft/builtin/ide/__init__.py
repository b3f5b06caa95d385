"""The IDE: edit, diagnose and navigate code live, in VS Code, in Neovim, or with language servers alone.

`connection` says what every editor can do; `lsp`, `nvim` and `vscode` do it. `hub` knows who is here and decides which
of them a call goes to. The tools stand in `look`, `change` and `screen`; they know no editor by name.
"""
