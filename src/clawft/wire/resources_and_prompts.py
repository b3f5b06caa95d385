"""The shapes of resources and prompts, and of the annotations on how they are to be regarded.

Apart from the other shapes: most servers have nothing but tools, and to make ready for moments takes long.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from clawft.wire.shapes import ItemDescription

_SAFE = 2**53 - 1
"""Above it a client that knows no integers but in floating point reads another one."""

Size = Annotated[int, Meta(ge=-_SAFE, le=_SAFE)]
Share = Annotated[float, Meta(ge=0, le=1)]

_LEAP_DAY = r"(\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29"
_MONTHS = r"(0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8])"
_HOUR = r"([01]\d|2[0-3]):[0-5]\d"
_MOMENT = rf"\A({_LEAP_DAY}|\d{{4}}-({_MONTHS}))T{_HOUR}(:[0-5]\d(\.\d+)?)?(Z|[+-]{_HOUR})\Z"
Moment = Annotated[str, Meta(pattern=_MOMENT)]
"""With its zone: some clients read no other."""


class ContentAnnotations(Struct, gc=False, rename="camel"):
    """The annotations of a resource or a block: for whom it is, and how much."""

    audience: list[Literal["user", "assistant"]] | UnsetType = UNSET
    priority: Share | UnsetType = UNSET
    last_modified: Moment | UnsetType = UNSET


class AnyResource(ItemDescription, kw_only=True):
    name: str
    mime_type: str | UnsetType = UNSET
    annotations: ContentAnnotations | UnsetType = UNSET


class Resource(AnyResource, kw_only=True):
    uri: str
    size: Size | UnsetType = UNSET


class ResourceTemplate(AnyResource, kw_only=True):
    uri_template: str


class Argument(Struct, gc=False, kw_only=True):
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    required: bool | UnsetType = UNSET


class Prompt(ItemDescription, kw_only=True):
    name: str
    arguments: list[Argument] | UnsetType = UNSET
