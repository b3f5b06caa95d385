"""`weft servers test NAME`: connects to one server, lists what it offers, and times every step."""

from __future__ import annotations

from clawft.cli.parser import Options, WrongUsage
from clawft.cli.servers.found import spec_to_start


def run(options: Options) -> int:
    if options.learn:
        from clawft.cli.servers.learn import learn  # brings the sandbox

        return learn(options)
    if options.call or options.write:
        raise WrongUsage("--call and --write need --learn", hint=f"weft tools call {options.name}__TOOL calls one")
    spec = spec_to_start(options)
    from clawft.cli.servers.trial import try_out  # brings the whole house, which a wrong name does without

    return try_out(spec, options)
