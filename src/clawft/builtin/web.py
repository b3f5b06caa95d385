"""The web family: reads pages and searches. Every address is judged by the URL policy; everything is bounded."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Meta, Struct

from clawft.auth.web import trusting
from clawft.builtin.bounded_text import bounded_text
from clawft.builtin.html_text import MAX_MARKS, before_mark, readable
from clawft.errors import ExecutionFailed, PermissionDenied
from clawft.link.http_out.fetch import FetchBounds, FetchedAnswer, FetchRequest, Judge, fetch
from clawft.link.share.large_messages import search_message
from clawft.model import Allow
from clawft.policy.url import UrlPolicy, decide
from clawft.provider.function import tool
from clawft.provider.keeps import FIRST
from clawft.provider.manifest import Manifest, Permissions, check_host
from clawft.wire.secrets import mask_url

MAX_PAGE_BYTES = 10_000_000
DEFAULT_PAGE_BYTES = 1_000_000
MAX_RESULTS = 50
MAX_URL_CHARS = 8192
SEARCH_KEY = "web.search_url"

MANIFEST = Manifest(id="com.clawft.plugin-web", name="Web Access", permissions=Permissions(network=("*",)))

_TEXTS = ("text/", "application/json", "application/xml", "application/javascript", "application/x-ndjson")
_TEXT_ENDS = ("+json", "+xml", "yaml", "toml")


class WebSettings(Struct, frozen=True):
    search_url: str = ""
    """A SearXNG-like endpoint, asked as `GET {search_url}?q=…&format=json`."""
    url_policy: UrlPolicy = UrlPolicy()
    bounds: FetchBounds = FetchBounds()


class Page(Struct, frozen=True):
    url: str
    status: int
    content_type: str
    text: Annotated[str, FIRST]
    truncated: bool = False


class Hit(Struct, frozen=True):
    title: str
    url: str
    snippet: str


def tools_with(settings: WebSettings | None) -> list[tuple[Callable[..., Any], bool]]:
    """The tools. Without a search engine `search` is not listed."""
    chosen = settings or WebSettings()
    page, search = web_tools(chosen)
    return [(page, True), (search, bool(chosen.search_url))]


def web_tools(settings: WebSettings) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`fetch` and `search`, bound to these settings."""

    @tool(name="fetch", alias="web_fetch", title="Fetch page", read_only=True)
    async def fetch_page(
        url: Annotated[str, Meta(min_length=1, max_length=MAX_URL_CHARS, description="http or https")],
        max_bytes: Annotated[int, Meta(ge=1, le=MAX_PAGE_BYTES)] = DEFAULT_PAGE_BYTES,
        raw: Annotated[bool, Meta(description="the source instead of the readable text")] = False,
    ) -> Page:
        """Fetch a web page or text document. HTML is reduced to readable text."""
        bounds = msgspec.structs.replace(settings.bounds, max_bytes=max_bytes)
        found = await fetch(url, judge=judge_by(settings.url_policy, "fetch"), bounds=bounds)
        return await search_message(found.body, "", partial(page_of, found, raw=raw))

    @tool(alias="web_search", title="Search the web", read_only=True)
    async def search(
        query: Annotated[str, Meta(min_length=1, max_length=1000)],
        limit: Annotated[int, Meta(ge=1, le=MAX_RESULTS)] = 10,
    ) -> list[Hit]:
        """Search the web."""
        if not settings.search_url:
            raise ExecutionFailed(
                "search: no search engine is configured", hint=f"set {SEARCH_KEY} to a SearXNG address"
            )
        found = await fetch(
            search_address(settings.search_url, query),
            judge=trusting([settings.search_url], judge_by(settings.url_policy, "search")),
            outgoing=FetchRequest(headers={"Accept": "application/json"}),
            bounds=settings.bounds,
        )
        return hits_of(found)[:limit]

    return fetch_page, search


def judge_by(policy: UrlPolicy, tool_name: str) -> Judge:
    """The URL policy as a judge. What would need a question is refused, as nobody can be asked here."""

    def judge(url: str, addresses: Sequence[str]) -> None:
        check_host(MANIFEST, tool_name, urlsplit(url).hostname or "")
        verdict = decide(url, addresses, policy)
        if not isinstance(verdict, Allow):
            raise PermissionDenied(tool_name, f"{url}: {verdict.reason}", hint=verdict.hint)

    return judge


def page_of(found: FetchedAnswer, *, raw: bool) -> Page:
    kind = found.content_type
    if found.body and not _is_text(kind):
        reason = f"{kind}, not text, and came with status {found.status}"
        raise ExecutionFailed(f"fetch: {found.url} is {reason}", hint="only text documents can be fetched")
    text, is_cut = bounded_text(found)
    if not raw and kind in ("text/html", "application/xhtml+xml"):
        marked = before_mark(text, MAX_MARKS)
        text, is_cut = readable(marked, found.url), is_cut or len(marked) < len(text)
    return Page(found.url, found.status, kind, text, is_cut)


def search_address(endpoint: str, query: str) -> str:
    joint = "&" if urlsplit(endpoint).query else "?"
    return f"{endpoint}{joint}{urlencode({'q': query, 'format': 'json'})}"


class _Found(Struct):
    url: str = ""
    title: str = ""
    content: str | None = ""


class _Answer(Struct):
    results: list[_Found] = []


def hits_of(found: FetchedAnswer) -> list[Hit]:
    """The results of the search engine; for another answer an error that says how to configure it."""
    try:
        answer = msgspec.json.decode(found.body, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ExecutionFailed(
            f"search: {mask_url(found.url)} answered {found.status} and no list of results",
            hint=f"check that {SEARCH_KEY} is a SearXNG with the json format enabled",
        ) from None
    return [Hit(one.title, one.url, one.content or "") for one in answer.results if one.url]


def _is_text(kind: str) -> bool:
    return kind.startswith(_TEXTS) or kind.endswith(_TEXT_ENDS)
