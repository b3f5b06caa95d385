"""Which rules follow from a setting and the folders around it. Nothing here touches the machine."""

import pytest
from msgspec.structs import replace

from clawft.sandbox.bounds import Bounds, FoldersAround, SandboxTable, access_to, bounds_of, expand
from tests.requirements import requirement

AROUND = FoldersAround(
    home="/home/me",
    state="/home/me/.clawft",
    workspace="/home/me/work",
    cwd="/home/me/work",
    own="/home/me/.clawft/sandbox/server",
    program=("/home/me/.venv",),
    named=("/home/me/notes",),
)


def bounds(setting: str | SandboxTable, around: FoldersAround = AROUND) -> Bounds:
    found = bounds_of(setting, around)
    assert found is not None
    return found


def access(setting: str | SandboxTable, path: str, around: FoldersAround = AROUND) -> str:
    return access_to(path, bounds(setting, around).rules)


@requirement("POOL-22")
@pytest.mark.parametrize(
    ("path", "auto", "strict"),
    [
        ("/usr/bin/env", "read", "read"),
        ("/home/me/work/src", "write", "write"),
        ("/home/me/work/.git/index", "write", "write"),
        ("/home/me/work/.git/hooks/post-checkout", "read", "read"),
        ("/home/me/work/.clawft/mcp.toml", "read", "read"),
        ("/home/me/notes/a", "write", "write"),
        ("/home/me/.venv/lib", "read", "read"),
        ("/home/me/letter", "read", "hide"),
        ("/home/other/letter", "read", "hide"),
        ("/home/me/.ssh/id", "hide", "hide"),
        ("/home/me/.config/gcloud/x", "hide", "hide"),
        ("/home/me/.clawft/tokens/x", "hide", "hide"),
        ("/home/me/.clawft/sandbox/server/npm", "write", "write"),
        ("/home/me/.clawft/sandbox/other", "hide", "hide"),
        ("/tmp/x", "empty", "empty"),
        ("/run/user/1000/bus", "hide", "hide"),
        ("/run/systemd/resolve/stub-resolv.conf", "read", "read"),
    ],
)
def test_what_may_be_touched(path: str, auto: str, strict: str) -> None:
    assert access("auto", path) == auto
    assert access("require", path) == auto
    assert access("strict", path) == strict


@requirement("POOL-22")
@pytest.mark.parametrize(
    ("path", "auto", "strict"),
    [
        ("/home/me/.local/share/uv/tools/weft/lib/x.pth", "read", "read"),
        ("/home/me/.local/share/uv/tools/other/x", "write", "write"),
        ("/home/me/.local/share/uv/python/ours/bin/python", "read", "hide"),
        ("/home/me/.local/share/letter", "read", "hide"),
        ("/usr/lib/python", "read", "read"),
    ],
)
def test_our_own_program_is_only_read_even_among_caches(path: str, auto: str, strict: str) -> None:
    uv = "/home/me/.local/share/uv"
    around = replace(
        AROUND, program=(f"{uv}/tools/weft",), weft=(f"{uv}/tools/weft", f"{uv}/python/ours", "/usr"), named=(uv,)
    )
    assert access("auto", path, around) == auto
    stays = [rule.path for rule in bounds("auto", around).rules if rule.access == "stay" and rule.path.startswith(uv)]
    assert stays == [f"{uv}/python", f"{uv}/tools"]
    assert access("strict", path, replace(around, named=(f"{uv}/tools/other",))) == strict


@requirement("POOL-22")
def test_the_network_is_everything_nothing_or_what_is_named() -> None:
    assert bounds("auto").any_host
    assert bounds("strict").network == ()
    assert bounds(SandboxTable(network=("a.example",))).some_hosts
    assert bounds_of("off", AROUND) is None
    assert (bounds("auto").required, bounds("require").required) == (False, True)
    assert bounds(SandboxTable(require=True)).required


@requirement("POOL-22")
def test_a_table_opens_what_it_names() -> None:
    table = SandboxTable(read=(".", "~/.ssh/known_hosts"), write=("out",))
    assert access(table, "/home/me/work/src") == "read"
    assert access(table, "/home/me/work/out/x") == "write"
    assert access(table, "/home/me/.ssh/known_hosts") == "read"
    assert access(table, "/home/me/.ssh/id") == "hide"
    assert access(table, "/home/me/letter") == "hide"


@requirement("POOL-22")
@pytest.mark.parametrize("workspace", ["/home/me", "/home", "/"])
@pytest.mark.parametrize("setting", ["auto", "strict"])
def test_a_workspace_that_holds_the_home_is_not_written(workspace: str, setting: str) -> None:
    around = replace(AROUND, workspace=workspace, cwd=workspace)
    assert access(setting, "/home/me/.bashrc", around) in ("read", "hide")
    assert access(setting, "/home/me/.ssh/id", around) == "hide"
    assert access(setting, "/home/me/.clawft/tokens/x", around) == "hide"


@requirement("POOL-22")
def test_a_table_that_opens_the_workspace_does_not_open_what_decides_about_later_runs() -> None:
    table = SandboxTable(write=(".",))
    assert access(table, "/home/me/work/src") == "write"
    assert access(table, "/home/me/work/.git/index") == "write"
    assert access(table, "/home/me/work/.git/hooks/x") == "read"
    assert access(table, "/home/me/work/.mcp.json") == "read"
    named = SandboxTable(write=(".", ".git/hooks"))
    assert access(named, "/home/me/work/.git/hooks/x") == "write"


@requirement("POOL-22")
@pytest.mark.parametrize(
    "named",
    ["/home/me/.ssh", "/home/me/.clawft", "/etc", "/usr/lib", "/home/me", "/", "/home/me/work/.git/hooks"],
)
def test_a_command_line_opens_no_secret_and_no_system(named: str) -> None:
    around = replace(AROUND, named=(named,))
    assert access("auto", f"{named.rstrip('/')}/x", around) in ("read", "hide")
    assert access("auto", "/home/me/.ssh/id", around) == "hide"


@requirement("POOL-22")
@pytest.mark.parametrize("table", [SandboxTable(), SandboxTable(read=(".",)), SandboxTable(write=(".",))])
@pytest.mark.parametrize("secret", ["/home/me/.ssh", "/home/me/.clawft", "/home/me/.config/gh", "/keys"])
def test_a_table_opens_no_secret_because_the_command_line_names_it(table: SandboxTable, secret: str) -> None:
    for named in (secret, f"{secret}/below"):
        around = replace(AROUND, named=(named,), moved=("/keys",))
        assert access(table, f"{named}/id", around) == "hide"
    assert access(replace(table, read=(secret,)), f"{secret}/id", replace(AROUND, moved=("/keys",))) == "read"


@requirement("POOL-22")
def test_a_home_of_ours_is_hidden_also_while_another_is_used() -> None:
    around = replace(AROUND, state="/elsewhere", own="/elsewhere/sandbox/server")
    for setting in ("auto", "strict", SandboxTable(read=("~",))):
        assert access(setting, "/home/me/.clawft/gateway.token", around) == "hide"
        assert access(setting, "/elsewhere/gateway.token", around) == "hide"


@requirement("POOL-22")
def test_a_program_in_the_workspace_does_not_close_it() -> None:
    around = replace(AROUND, program=("/home/me/work/server",))
    assert access("auto", "/home/me/work/server/log", around) == "write"


@pytest.mark.parametrize(
    ("path", "whole"), [("~", "/h"), ("~/a", "/h/a"), (".", "/w"), ("a/../b", "/w/b"), ("/x/", "/x"), ("~a", "/w/~a")]
)
def test_paths_are_made_whole(path: str, whole: str) -> None:
    assert expand(path, "/h", "/w") == whole
