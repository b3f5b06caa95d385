"""Places in the home folder that decide which programs run later, or that belong to many. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from clawft.sandbox.bounds import is_within

AT_LOGIN = (
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .xprofile "
    ".xinitrc .xsession .pam_environment .inputrc .gitconfig .config/git .config/autostart .config/systemd "
    ".config/environment.d .config/fish .config/nvim .config/Code .vimrc .vim .emacs .emacs.d .tmux.conf .npmrc .bin "
    "bin .local/bin .local/share/applications .local/share/systemd .local/lib .cargo/bin .cargo/config.toml .cargo/env "
    ".vscode .cursor .claude .claude.json .codex .config/clawft .mozilla .nix-profile .pyenv .nvm .rustup"
).split()
"""Below the home folder: what decides which programs run later, with all the rights of the user."""
FETCHED = (
    ".local/share/uv .local/share/pipx .local/pipx .local/share/pnpm .local/share/mise .local/share/gem .npm "
    ".npm-packages .npm-global .node_modules .yarn .bun .deno .volta .cargo .gem go .m2 .gradle .nuget .dotnet .asdf "
    ".rbenv .poetry .conda miniconda3 anaconda3 .cache/uv .cache/pip .cache/pipx .cache/pnpm .cache/yarn .cache/deno "
    ".cache/node .cache/go-build .cache/pypoetry .cache/ms-playwright"
).split()
"""Below the home folder: where launchers keep what they fetched for everybody. In a sandbox each has its own."""
SHARED = (".config", ".cache", ".local", ".local/share", ".local/state")
"""Folders of many programs: the one of this program is meant, never all of them."""


def is_shared(folder: str, home: str) -> bool:
    return folder in [f"{home}/{name}" for name in SHARED]


def runs_later(path: str, home: str) -> bool:
    """Whether it is, holds or lies in something that decides what runs at the next login, or later."""
    return _touches(path, home, AT_LOGIN)


def holds_programs(path: str, home: str) -> bool:
    """Whether it is, holds or lies in a folder from which other servers, and the user, run what was fetched once."""
    return _touches(path, home, FETCHED)


def _touches(path: str, home: str, names: Iterable[str]) -> bool:
    return any(is_within(path, each) or is_within(each, path) for each in (f"{home}/{name}" for name in names))
