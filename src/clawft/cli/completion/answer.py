"""`weft completion`: a shell's script, or what it asks for at each Tab."""

from __future__ import annotations

from clawft.cli.completion.words import offered
from clawft.cli.parser import Options, WrongUsage


def run(options: Options) -> int:
    if options.command:
        for word in offered(options.command):
            print(word)
    elif options.shell:
        from clawft.cli.completion.scripts import SCRIPTS  # Tab does without them

        print(SCRIPTS[options.shell](), end="")
    else:
        raise WrongUsage("completion of which shell? One of: bash, zsh, fish", hint='eval "$(weft completion bash)"')
    return 0
