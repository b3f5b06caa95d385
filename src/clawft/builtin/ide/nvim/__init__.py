"""Neovim as an editor: found by its sockets (`find`, `watch`), connected by `rpc` in `msgpack`.

`backend` is one Neovim; `bridge.lua` is our part inside of it.
"""
