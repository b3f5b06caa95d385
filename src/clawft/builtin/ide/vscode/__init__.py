"""VS Code as an editor: its extension finds us by a file (`rendezvous`) and registers at the `endpoint`.

`register` has the messages of that; `backend` is one window.
"""
