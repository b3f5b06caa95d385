"""Schema marks for those parts of a structured result that may be cut if it is too large.

    class Finished(Struct):
        stdout: Annotated[str, LAST]

Nothing else is ever cut: half of an identifier, or of a picture, would be wrong.
"""

from msgspec import Meta

KEEPS = "x-keeps"
FIRST = Meta(extra_json_schema={KEEPS: "first"})
"""Keeps the beginning of a text, or the first items of a list."""
LAST = Meta(extra_json_schema={KEEPS: "last"})
"""Keeps the end of a text."""
