"""The resources of the ide family, in a module of their own, so that listing them loads nothing else."""

from clawft.model import Resource

SELECTION = "ide://selection"
OPEN_EDITORS = "ide://open-editors"
DIAGNOSTICS = "ide://diagnostics"
_JSON = "application/json"

RESOURCES = (
    Resource(SELECTION, "selection", description="What the person has selected in their editor.", mime_type=_JSON),
    Resource(OPEN_EDITORS, "open editors", description="The files open in the editor.", mime_type=_JSON),
    Resource(DIAGNOSTICS, "diagnostics", description="Errors and warnings of all files.", mime_type=_JSON),
)
