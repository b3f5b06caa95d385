"""A whole task, handed to somebody: who gets it, how it is run with our tools, and what bounds it has."""
