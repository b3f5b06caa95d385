"""Builders: run one, hear its lines while it runs, read what it reported. Families are in the modules `tools`."""
