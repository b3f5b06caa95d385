"""Neovim: found by its sockets (`find`, `watch`), spoken to by `rpc`; `bridge.lua` is our part inside of it."""
