"""VS Code: its extension finds us by a file (`rendezvous`) and registers (`reception`); `backend` is one window."""
