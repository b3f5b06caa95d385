"""What holds a child, and what tries to get out."""
