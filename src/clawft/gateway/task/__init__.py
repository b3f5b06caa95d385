"""Calls that outlive their request, in the form of each era."""
