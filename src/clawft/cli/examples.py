"""Lines to try, by command: what `--help` ends with. Tests run them as they stand."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing alone costs more than all that `weft --help` needs
    from collections.abc import Iterator, Mapping

FIRST = (
    "weft gateway                      # prints the lines that connect your clients",
    "weft servers import --dry-run     # servers that your other programs know",
    "weft tools list",
    "weft tools call file__read path=README.md",
    "weft doctor                       # what is missing, and how to get it",
)
"""For somebody who has never used it."""

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "mcp-server": (
        "weft mcp-server --workspace ~/src/shop",
        "weft mcp-server --deny 'shell__*' --deny 'git__push'",
    ),
    "gateway": (
        "weft gateway",
        "weft gateway --port 0 --json      # any free port; for a program",
    ),
    "agent": (
        'weft agent -p "What is here?" --scenario examples/hello.toml',
        'weft agent -p "Which tests fail?" --explain',
        'weft agent -p "file__read path=README.md"',
    ),
    "serve-model": (
        "weft serve-model --scenario examples/hello.toml",
        "weft serve-model --scenario examples/hello.toml --port 0 --log requests.jsonl",
    ),
    "servers list": ("weft servers list", "weft servers list --json"),
    "servers status": ("weft servers status", "weft servers status notes"),
    "servers add": (
        "weft servers add time -- uvx mcp-server-time",
        "weft servers add wiki https://mcp.example.com/mcp",
        "weft servers add box --env BOX_TOKEN=secret://env/BOX_TOKEN -- npx -y box-mcp",
        "weft servers add db https://db.example.com/mcp --header 'Key: secret://env/K'",
    ),
    "servers remove": ("weft servers remove wiki",),
    "servers enable": ("weft servers enable notes",),
    "servers disable": ("weft servers disable notes",),
    "servers reconnect": ("weft servers reconnect notes",),
    "servers test": ("weft servers test notes", "weft servers test notes --learn --call 'list_notes {}'"),
    "servers import": (
        "weft servers import --dry-run",
        "weft servers import --from claude-desktop --from cursor",
    ),
    "auth login": (
        "weft auth login linear",
        "weft auth login mine --issuer https://login.example.com --client-id ID",
        "weft auth login mine --device",
    ),
    "auth status": ("weft auth status",),
    "auth refresh": ("weft auth refresh mine",),
    "auth logout": ("weft auth logout mine",),
    "auth store": ("weft auth store", "weft auth store keyring"),
    "auth allow": ("weft auth allow mine api.example.com", "weft auth allow mine '*.example.org'"),
    "tools list": ("weft tools list", "weft tools list git --tokens", "weft tools list '*__search' --json"),
    "tools search": ("weft tools search read a file",),
    "tools show": ("weft tools show file__read",),
    "tools call": (
        "weft tools call file__read path=README.md",
        "weft tools call file__read path=README.md limit:=3",
        "weft tools call memory__store key=readme value=@README.md",
        'weft tools call file__search --args \'{"pattern": "weft"}\' --json',
    ),
    "resources list": ("weft resources list",),
    "resources read": ("weft resources read workspace:///README.md",),
    "prompts list": ("weft prompts list",),
    "prompts get": ("weft prompts get weft__explain_file path=README.md",),
    "approvals list": ("weft approvals list", "weft approvals list notes"),
    "approvals grant": (
        "weft approvals grant notes list_notes",
        "weft approvals grant notes 'list_*' --days 30",
        "weft approvals grant notes '*'    # tools, prompts, resources as they are",
    ),
    "approvals diff": ("weft approvals diff", "weft approvals diff notes list_notes"),
    "approvals export": ("weft approvals export notes --output approvals.json",),
    "approvals import": ("weft approvals import approvals.json --dry-run",),
    "approvals revoke": ("weft approvals revoke notes 'list_*'", "weft approvals revoke notes"),
    "audit tail": (
        "weft audit tail -n 5",
        "weft audit tail --errors --since 2h",
        "weft audit tail --tool 'git__*' --json",
    ),
    "audit show": ("weft audit show 1",),
    "audit verify": ("weft audit verify",),
    "policy explain": (
        'weft policy explain shell__exec command="sudo apt install cowsay"',
        "weft policy explain web__fetch url=http://169.254.169.254/",
    ),
    "config show": ("weft config show --origin",),
    "config path": ("weft config path",),
    "config check": ("weft config check",),
    "doctor": ("weft doctor", "weft doctor --scan"),
    "completion": (
        'eval "$(weft completion bash)"    # in ~/.bashrc; zsh: after compinit',
        "weft completion fish > ~/.config/fish/completions/weft.fish",
    ),
}
"""Command and verb → lines."""


def of(path: str) -> tuple[str, ...]:
    """The examples of one command; of one that has further commands the first of each."""
    return EXAMPLES.get(path) or tuple(_firsts(path)) if path else FIRST


def _firsts(command: str) -> Iterator[str]:
    return (lines[0] for path, lines in EXAMPLES.items() if path.startswith(f"{command} "))


def section(path: str) -> str:
    """The end of a help text."""
    return "\nexamples:\n" + "".join(f"  {line}\n" for line in of(path))
