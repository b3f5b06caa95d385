"""What each built-in family is told of the settings; made when the family is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from clawft.config.settings import Settings


def told(namespace: str, settings: Settings) -> Mapping[str, object] | None:
    """By namespace, as `families` takes it; nothing for a family that has no settings."""
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
    from clawft.builtin.cargo.asked import CargoSettings  # loaded with the family

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
