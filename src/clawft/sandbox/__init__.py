"""What a child may touch, and the means of this machine that hold it to that. No root, no daemon, no container.

`bounds` says what a child may touch, `probe` finds the means and `means` remembers them, `cell` puts both together into
a command to start. `landlock` and `opening` run inside, as programs of their own, and import nothing of ours. To add a
means: a level of `probe.Means` and its way to start in `cell.Cell`.
"""
