"""Every key a configuration file may have. To add one: a row in `KEYS` and the field in `Settings` it fills.

Loading, `weft config show` and the reference in the docs all read this table.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from clawft.catalog.names import NameForm
from clawft.catalog.surface import SurfaceForm
from clawft.config.delegation import DELEGATION
from clawft.config.key import ConfigKey, Texts, is_http, is_https
from clawft.error_words import did_you_mean
from clawft.policy.grant import GrantRule

OPEN_TABLES = frozenset({"mcp_servers"})
"""Known tables that other modules read and judge."""

MAX_INSTRUCTIONS = 16_384
MAX_RESULT_LIMIT = 64 * 1024 * 1024

Grants = tuple[Literal["push", "force"], ...]
ResultLimit = Annotated[int, Meta(ge=1, le=MAX_RESULT_LIMIT)]
PageSize = Annotated[int, Meta(ge=1, le=100_000)]
SurfaceTokens = Annotated[int, Meta(ge=1, le=10_000_000)]
MaxBody = Annotated[int, Meta(ge=1024, le=1024 * 1024 * 1024)]
Rate = Annotated[int, Meta(ge=0, le=100_000)]
Days = Annotated[int, Meta(ge=0, le=3650)]
AuditFiles = Annotated[int, Meta(ge=1, le=10_000)]
QuestionSeconds = Annotated[int, Meta(ge=1, le=86_400)]
Connections = Annotated[int, Meta(ge=1, le=1_000)]
ListSeconds = Annotated[int, Meta(ge=0, le=86_400)]
Instructions = Annotated[str, Meta(max_length=MAX_INSTRUCTIONS)]


def _are_rules(values: Sequence[str]) -> str:
    from clawft.policy.command.rules import RULES  # the rules are long; most configurations switch none off

    known = [rule.name for rule in RULES]
    return next(
        (f"names an unknown rule: {value!r}{did_you_mean(value, known)}" for value in values if value not in known), ""
    )


def _are_networks(values: Sequence[str]) -> str:
    from ipaddress import ip_network  # only for those who allow a network

    for value in values:
        try:
            ip_network(value)
        except ValueError as wrong:
            return f"contains an invalid network: {wrong}"
    return ""


def _are_variables(values: Sequence[str]) -> str:
    odd = next((value for value in values if not value.isidentifier()), None)
    return f"contains an invalid name of a variable: {odd!r}" if odd is not None else ""


def _are_absolute(values: Sequence[str]) -> str:
    odd = next((value for value in values if not value.startswith(("/", "~")) and value[1:3] != ":\\"), None)
    return f"contains a path that is not absolute: {odd!r}" if odd is not None else ""


_GLOBS = 'a list of globs, like ["git__*"]'
_HOSTS = 'a list of host names or globs, like ["*.example.com"]'


def _sandbox_key(family: str, about: str) -> ConfigKey:
    setting = Literal["auto", "off", "strict", "require"]
    return ConfigKey(f"{family}.sandbox", f"{family}_sandbox", setting, "auto, off, strict or require", "auto", about)


KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("tools.allow", "allow", Texts, _GLOBS, ("*",), "Tools the agent may see and call."),
    ConfigKey(
        "tools.deny", "deny", Texts, _GLOBS, (), "Tools the agent may not see or call; wins over allow.", adds=True
    ),
    ConfigKey(
        "tools.names",
        "names",
        NameForm,
        "plain, mcp, claude or bare",
        NameForm.PLAIN,
        "The form of tool names that agents see.",
    ),
    ConfigKey(
        "tools.surface",
        "surface.form",
        SurfaceForm,
        "full, search or auto",
        SurfaceForm.FULL,
        "What agents see: every tool, or two tools that find and call the others.",
    ),
    ConfigKey(
        "tools.surface_tokens",
        "surface.tokens",
        SurfaceTokens,
        "1 to 10000000",
        20_000,
        "With auto, use search if all definitions have more tokens than this.",
    ),
    ConfigKey("tools.pinned", "surface.pinned", Texts, _GLOBS, (), "Tools that are always listed."),
    ConfigKey("tools.builtin", "builtin", bool, "true or false", True, "Offer the built-in tools."),
    ConfigKey(
        "security.command_policy.allow",
        "command_policy.allow",
        Texts,
        "a list of rule names",
        (),
        "Command rules to disable.",
        check=_are_rules,
    ),
    ConfigKey(
        "security.command_policy.deny",
        "command_policy.deny",
        Texts,
        'a list of globs, like ["git push*"]',
        (),
        "Further commands to reject.",
        adds=True,
    ),
    ConfigKey(
        "security.url_policy.schemes",
        "url_policy.schemes",
        Texts,
        'a list of schemes, like ["https"]',
        ("http", "https"),
        "URL schemes to allow.",
    ),
    ConfigKey(
        "security.url_policy.allow_hosts", "url_policy.allow_hosts", Texts, _HOSTS, (), "Private hosts to allow."
    ),
    ConfigKey(
        "security.url_policy.allow_networks",
        "url_policy.allow_networks",
        Texts,
        'a list of networks, like ["10.0.0.0/8"]',
        (),
        "Private networks to allow.",
        check=_are_networks,
    ),
    ConfigKey(
        "security.url_policy.deny_hosts", "url_policy.deny_hosts", Texts, _HOSTS, (), "Hosts to reject.", adds=True
    ),
    ConfigKey(
        "security.command_folders",
        "command_folders",
        Texts,
        'a list of folders, like ["/usr/bin"]',
        (),
        "Folders from which programs of servers may be started; empty: any.",
        check=_are_absolute,
    ),
    ConfigKey(
        "result.limit",
        "result_limit",
        ResultLimit,
        "1 to 67108864 bytes",
        65_536,
        "Maximum size of the text of one result; longer text is truncated.",
    ),
    ConfigKey(
        "result.resource_limit",
        "resource_limit",
        ResultLimit,
        "1 to 67108864 bytes",
        8_388_608,
        "Maximum size of one resource or prompt; larger ones are rejected.",
    ),
    ConfigKey(
        "result.redact",
        "redact",
        bool,
        "true or false",
        False,
        "Remove keys and tokens from results; a server's own `redact` wins.",
    ),
    ConfigKey(
        "approvals.ask",
        "ask",
        Literal["untrusted", "all"],
        "untrusted or all",
        "untrusted",
        "Whose tools need approval; with all, read-only tools of trusted servers do not.",
    ),
    ConfigKey(
        "approvals.days",
        "approval_days",
        Days,
        "0 to 3650",
        0,
        "How many days an answer to an approval question is valid; 0: until the tool changes.",
    ),
    ConfigKey(
        "approvals.after_untrusted",
        "ask_after_untrusted",
        bool,
        "true or false",
        False,
        "Ask before a tool changes or sends something once the conversation has read what an untrusted server or the "
        "web says.",
    ),
    ConfigKey(
        "pool.max_connections",
        "max_connections",
        Connections,
        "1 to 1000",
        20,
        "Servers connected at the same time; an idle one is disconnected to make room.",
    ),
    ConfigKey(
        "pool.list_seconds",
        "list_seconds",
        ListSeconds,
        "0 to 86400 seconds",
        300,
        "How long the lists of a server are cached, unless it reports a change.",
    ),
    ConfigKey("audit.enabled", "audit", bool, "true or false", True, "Log every call."),
    ConfigKey(
        "audit.values", "audit_values", bool, "true or false", False, "Log the arguments too, not only their digest."
    ),
    ConfigKey(
        "audit.files",
        "audit_files",
        AuditFiles,
        "1 to 10000",
        10,
        "How many full audit files of 64 MiB to keep; the oldest are deleted.",
    ),
    ConfigKey(
        "web.search_url",
        "search_url",
        str,
        "a text",
        "",
        "The address of the SearXNG instance that web__search uses.",
        check=is_http,
    ),
    ConfigKey(
        "git.allow", "git_allow", Grants, "a list of push and force", (), "What git may do without asking the person."
    ),
    ConfigKey(
        "git.hosts",
        "git_hosts",
        Texts,
        _HOSTS,
        (),
        "Hosts git may reach besides github.com, gitlab.com and bitbucket.org.",
    ),
    ConfigKey(
        "git.local",
        "git_local",
        bool,
        "true or false",
        True,
        "Allow clone and fetch from repositories inside the workspace.",
    ),
    ConfigKey(
        "git.variables",
        "git_variables",
        Texts,
        'a list of names, like ["SSH_AUTH_SOCK"]',
        (),
        "Environment variables passed to git in trusted repositories.",
        check=_are_variables,
    ),
    _sandbox_key("git", "The sandbox of git, and of what it starts in trusted repositories."),
    ConfigKey(
        "cargo.hosts", "cargo_hosts", Texts, _HOSTS, (), "Hosts cargo may reach besides crates.io and your registries."
    ),
    _sandbox_key("cargo", "The sandbox of cargo, build scripts and tests."),
    _sandbox_key("build", "The sandbox of the tasks of build__run and build__test."),
    _sandbox_key("ide", "The sandbox of the language servers that are used without an editor."),
    _sandbox_key("shell", "The sandbox of the commands of shell__exec."),
    ConfigKey("gateway.page_size", "page_size", PageSize, "1 to 100000", 2500, "Items on one page of a list."),
    ConfigKey(
        "gateway.max_body",
        "max_body",
        MaxBody,
        "1024 to 1073741824 bytes",
        4_194_304,
        "Maximum size of a request over HTTP.",
    ),
    ConfigKey(
        "gateway.rate", "rate", Rate, "0 to 100000", 0, "Requests per second of one caller over HTTP; 0: no limit."
    ),
    ConfigKey(
        "gateway.question_seconds",
        "question_seconds",
        QuestionSeconds,
        "1 to 86400 seconds",
        600,
        "How long a question to the agent may wait for its answer, and a call for its question.",
    ),
    ConfigKey(
        "gateway.auth.issuer",
        "auth_issuer",
        str,
        "a text: https://…",
        "",
        "The issuer whose tokens (JWT) the HTTP gateway accepts.",
        check=is_https,
    ),
    ConfigKey(
        "gateway.auth.audience",
        "auth_audience",
        str,
        "a text: https://…",
        "",
        "The audience that tokens must have; empty: the address the gateway listens on.",
        check=is_http,
    ),
    ConfigKey(
        "gateway.auth.jwks_url",
        "auth_jwks_url",
        str,
        "a text: https://…",
        "",
        "The address of the issuer's keys; empty: taken from its metadata.",
        check=is_https,
    ),
    ConfigKey("gateway.auth.scopes", "auth_scopes", Texts, "a list of texts", (), "Scopes every token must have."),
    ConfigKey("gateway.auth.groups", "auth_groups", str, "a text", "groups", "The claim with a person's groups."),
    ConfigKey(
        "gateway.auth.grants",
        "auth_grants",
        tuple[GrantRule, ...],
        "a list of tables of subject, group, scope, allow and deny",
        (),
        "Who may use which tools; nobody else gets any.",
    ),
    ConfigKey(
        "gateway.instructions",
        "instructions",
        Instructions,
        f"a text of at most {MAX_INSTRUCTIONS} characters",
        "",
        "Instructions sent to agents when they connect.",
    ),
    *DELEGATION,
)

BY_NAME = {key.name: key for key in KEYS}
WHOLE = frozenset(key.name for key in KEYS if key.whole)
"""Keys whose value is a table."""
