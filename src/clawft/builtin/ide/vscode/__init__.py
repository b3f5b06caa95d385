"""VS Code: its extension finds us by a file (`rendezvous`) and comes to the `reception`.

`register` is what a window says of itself then; `backend` is one window.
"""
