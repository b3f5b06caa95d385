"""What callers want to hear from a server, and how each era is told."""
