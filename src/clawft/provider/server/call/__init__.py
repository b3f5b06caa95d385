"""Tool calls on their way to a server and back."""
