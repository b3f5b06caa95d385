"""What is kept: values by key, the journal behind the audit, secrets by reference; and files for their owner alone.

`home` knows where our folder is, and how a file in it is made private, written whole and locked. To add a store: a
class with the methods of `base.KeyValueStore`. To add a kind of secret: a row in `_SOURCES` of `secrets`.
"""
