"""The built-in families of a gateway, with the settings each gets when it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, cast

from clawft.builtin import FAMILIES, families
from clawft.builtin.lazy import LazyFamily, lazily
from clawft.config.settings import Settings
from clawft.provider.base import Provider
from clawft.provider.function import FunctionProvider
from clawft.store.base import KeyValueStore

if TYPE_CHECKING:  # loaded when one of its tools is called, or an editor waits
    from clawft.app.editors import EditorsAtTheDoor
    from clawft.builtin.ide.provider import IdeProvider


class Families:
    """The families: all offered at once, each loaded with its first call."""

    def __init__(self, settings: Settings, editors: EditorsAtTheDoor) -> None:
        self._settings = settings
        self._editors = editors
        hidden = frozenset[str]() if settings.search_url else frozenset({"web__search"})
        self.offered = lazily(tuple(FAMILIES), self._load, hidden)
        ide = next((family for family in self.offered if family.namespace == "ide"), None)
        editors.family = ide if isinstance(ide, LazyFamily) else None

    @property
    def own(self) -> FunctionProvider | None:
        """The family `weft`, whose tools work on the gateway itself."""
        weft = next((family for family in self.offered if family.namespace == "weft"), None)
        return weft if isinstance(weft, FunctionProvider) else None

    def _load(self, namespace: str) -> Provider:
        settings = _settings_of(namespace, self._settings)
        (provider,) = families(self._settings.workspace, _store_for, settings=settings, only=[namespace])
        if namespace == "ide":
            self._editors.provider = cast("IdeProvider", provider)
        return provider


def _store_for(agent: str, family: str) -> KeyValueStore:
    from clawft.store.files import FileStore, state_folder  # loaded with what is kept

    return FileStore(state_folder(agent, family))


def _settings_of(namespace: str, settings: Settings) -> Mapping[str, object] | None:
    """The settings of a family by its namespace; None for a family without settings."""
    make = _MAKERS.get(namespace)
    return None if make is None else {namespace: make(settings)}


def _web(settings: Settings) -> object:
    from clawft.builtin.web import WebSettings  # loaded with the family

    return WebSettings(search_url=settings.search_url, url_policy=settings.url_policy)


def _git(settings: Settings) -> object:
    from clawft.builtin.git import GitSettings  # loaded with the family
    from clawft.builtin.trust import trusted_in

    return GitSettings(
        trusted=partial(trusted_in, settings.workspace),
        granted=settings.git_allow,
        hosts=settings.git_hosts,
        local=settings.git_local,
        variables=settings.git_variables,
        sandbox=settings.git_sandbox,
    )


def _cargo(settings: Settings) -> object:
    from clawft.builtin.cargo.family import CargoSettings  # loaded with the family

    return CargoSettings(sandbox=settings.cargo_sandbox, hosts=settings.cargo_hosts)


def _build(settings: Settings) -> object:
    from clawft.builtin.build.family import BuildSettings  # loaded with the family

    return BuildSettings(sandbox=settings.build_sandbox)


def _shell(settings: Settings) -> object:
    from clawft.builtin.shell import ShellSettings  # loaded with the family

    return ShellSettings(sandbox=settings.shell_sandbox)


def _ide(settings: Settings) -> object:
    from clawft.builtin.ide.family import IdeSettings  # loaded with the family

    return IdeSettings(sandbox=settings.ide_sandbox)


def _url_policy(settings: Settings) -> object:
    return settings.url_policy


_MAKERS: Mapping[str, Callable[[Settings], object]] = {
    "web": _web,
    "git": _git,
    "cargo": _cargo,
    "build": _build,
    "shell": _shell,
    "ide": _ide,
    "oauth2": _url_policy,
    "rest": _url_policy,
}
