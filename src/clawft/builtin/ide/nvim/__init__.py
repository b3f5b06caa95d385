"""Neovim: found by its sockets (`find`, `watch`), spoken to by `rpc` in `msgpack`.

`backend` is one Neovim; `bridge.lua` is our part inside of it.
"""
