"""Guards: steps around every call, each of which may answer, refuse, or look at the reply. `pipeline` composes them.

To add one: a class here, and a row in `App._guards`, outermost first.
"""
