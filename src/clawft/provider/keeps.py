"""What may be cut of a structured result that is too large: said by its own schema, part by part.

    class Finished(Struct):
        stdout: Annotated[str, LAST]

Nothing else is ever cut: half of an identifier, or of a picture, would be another one.
"""

from msgspec import Meta

KEEPS = "x-keeps"
FIRST = Meta(extra_json_schema={KEEPS: "first"})
"""Of a text the beginning is kept, of a list the first items."""
LAST = Meta(extra_json_schema={KEEPS: "last"})
"""Of a text the end."""
