"""The common part of tools, prompts and resources: the roster of providers, the guards' side duties, the
form of names.
"""

from __future__ import annotations

from msgspec import Struct

from clawft.catalog.names import NameForm
from clawft.gateway.offer.registered_provider import Reaches
from clawft.gateway.offer.roster import Roster
from clawft.gateway.offer.shared_uris import SharedUris
from clawft.guard.side_duties import SideDuties


class Basis(Struct, frozen=True):
    roster: Roster
    side_duties: SideDuties
    shared: SharedUris
    form: NameForm
    reaches: Reaches
