"""Places in the home folder that decide which programs run later, or that many programs share. Pure."""

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
"""Names below the home folder that decide which programs run later, with all rights of the user."""
FETCHED = (
    ".local/share/uv .local/share/pipx .local/pipx .local/share/pnpm .local/share/mise .local/share/gem .npm "
    ".npm-packages .npm-global .node_modules .yarn .bun .deno .volta .cargo .gem go .m2 .gradle .nuget .dotnet .asdf "
    ".rbenv .poetry .conda miniconda3 anaconda3 .cache/uv .cache/pip .cache/pipx .cache/pnpm .cache/yarn .cache/deno "
    ".cache/node .cache/go-build .cache/pypoetry .cache/ms-playwright"
).split()
"""Names below the home folder where launchers keep fetched programs. In a sandbox each server has its own."""
SHARED = (".config", ".cache", ".local", ".local/share", ".local/state")
"""Folders of many programs: a server is allowed its own folder in them, never the whole."""


def is_shared(folder: str, home: str) -> bool:
    return folder in [f"{home}/{name}" for name in SHARED]


def runs_later(path: str, home: str) -> bool:
    """Whether the path is, holds or lies in something that decides what runs at the next login, or later."""
    return _touches(path, home, AT_LOGIN)


def holds_programs(path: str, home: str) -> bool:
    """Whether the path is, holds or lies in a folder of fetched programs, which other servers and the user run."""
    return _touches(path, home, FETCHED)


def _touches(path: str, home: str, names: Iterable[str]) -> bool:
    return any(is_within(path, each) or is_within(each, path) for each in (f"{home}/{name}" for name in names))
