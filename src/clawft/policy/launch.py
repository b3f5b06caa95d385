"""May this text be the program of a stdio server? Its arguments are not looked at: no shell reads them."""

from clawft.model import Allow, Deny, Verdict

UNSAFE = ("..", ";", "|", "&", "$", "`", "\n", "\r", "\0")


def decide(program: str) -> Verdict:
    """Refuse what only makes sense to a shell, or walks up; the words of the refusal contain "unsafe"."""
    if not program.strip():
        return Deny("launch-empty", "unsafe command: it is empty", 'set command = "/absolute/path/to/server"')
    found = next((bad for bad in UNSAFE if bad in program), None)
    if found is None:
        return Allow("launch")
    reason = f"unsafe command: {program[:120]!r} contains {found!r}"
    return Deny("launch-unsafe", reason, "give the plain path of the program; put everything else into args")
