"""Whether two addresses have one owner, as far as their names tell. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

from clawft.auth.tokens import AuthServer

_SHARED = frozenset(
    """
    amazonaws.com amazoncognito.com appspot.com auth0.com azurewebsites.net b2clogin.com ciamlogin.com cloudapp.net
    cloudfront.net deno.dev firebaseapp.com fly.dev github.io gitlab.io glitch.me herokuapp.com netlify.app
    ngrok-free.app ngrok.app ngrok.io okta.com oktapreview.com onrender.com pages.dev replit.app run.app supabase.co
    trycloudflare.com vercel.app web.app workers.dev zitadel.cloud
    """.split()
)
"""Beneath these everybody can have a name."""
_KNOWN_AS = {"microsoftonline.com": "microsoft.com"}
"""Names of one owner: tokens are given at the first, and codes of devices typed at the second."""
_COUNTRY, _KIND = 2, 3
"""Letters that `uk` and `co` of `example.co.uk` have at most: beneath such a pair, too, everybody can have a name."""


def leads_elsewhere(shown: str, server: AuthServer) -> bool:
    """Whether the page that a person is `shown` has another owner than the server that gets the login."""
    return not any(same_site(shown, ours) for ours in (server.token_endpoint, server.issuer) if ours)


def same_site(one: str, other: str) -> bool:
    return _site(one) == _site(other) != ""


def _site(url: str) -> str:
    host = (urlsplit(url).hostname or "").rstrip(".")
    parts = host.split(".")
    if parts[-1].isdigit() or ":" in host or len(parts) == 1:  # a number has no owner's name in it
        return host
    named = 3 if len(parts[-1]) <= _COUNTRY and len(parts[-2]) <= _KIND else 2
    site = ".".join(parts[-named:])
    return host if site in _SHARED else _KNOWN_AS.get(site, site)
