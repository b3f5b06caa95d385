"""A whole task, handed to somebody: who gets it, how it is run with our tools, and what bounds it has.

`desk` takes tasks in; `rules` decide who gets one, `loop` asks a model until it is done, `executor` runs its calls. To
add a model: a class like `claude.Claude`, its target in `policy.delegation`, and a case in `Desk._model`.
"""
