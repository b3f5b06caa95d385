"""Notes of strace become a table that allows what was used, and no secret."""

import pytest

from clawft.sandbox.bounds import HOMES, FoldersAround, SandboxTable
from clawft.sandbox.observed_run import MAX_SEEN, ObservedRun, question, read_notes
from clawft.sandbox.proposal import MAX_NAMED, propose
from tests.requirements import requirement

AROUND = FoldersAround(
    home="/home/me",
    state="/home/me/.clawft",
    workspace="/home/me/work",
    cwd="/home/me/work",
    own="/home/me/.clawft/sandbox/s",
    program=("/home/me/.venv",),
)
ASKED = b"\xcf\xe0\x01\0\0\x01\0\0\0\0\0\0\x03api\x06github\x03com\0\0\x01\0\x01"


def hexed(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return "".join(f"\\x{byte:02x}" for byte in data)


def opened(path: str, flags: str = "O_RDONLY", result: str = "3", pid: int = 12) -> str:
    return f'{pid} openat(AT_FDCWD, "{hexed(path)}", {flags}) = {result}'


NOTES = [
    f'10 execve("{hexed("/usr/bin/bwrap")}", ["x"], 0x7 /* 2 vars */) = 0',
    opened("/home/me/.ssh", pid=10),
    f'11 mkdir("{hexed("/newroot")}", 0755) = 0',
    f'12 execve("{hexed("/nope/server")}", ["x"], 0x7) = -1 ENOENT (No such file or directory)',
    f'12 execve("{hexed("/usr/bin/server")}", ["x"], 0x7 /* 2 vars */) = 0',
    opened("/home/me/.config/tool/settings.toml"),
    opened("notes.txt"),
    opened("/home/me/.tool/cache", "O_WRONLY|O_CREAT", "-1 EROFS (Read-only file system)"),
    opened("/home/me/missing", "O_RDONLY", "-1 ENOENT (No such file or directory)"),
    opened("/home/me/.aws/credentials", "O_RDONLY", "-1 ENOENT (No such file or directory)"),
    opened("/usr/lib/x"),
    opened("/home/me/.venv/lib/y.py"),
    opened("/home/me/.clawft/sandbox/s/z", "O_RDWR|O_CREAT"),
    opened("/tmp/t", "O_RDWR|O_CREAT"),
    opened("/home/me/.secret", pid=10),
    f'13 openat(AT_FDCWD, "{hexed("/srv/data/db")}", O_RDWR <unfinished ...>',
    f'12 rename("{hexed("/srv/a")}", "{hexed("/srv/new/b")}") = 0',
    "13 <... openat resumed>) = 4",
    f'12 connect(3, {{sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("{hexed("9.9.9.9")}")}}, 16) = 0',
    f'12 sendmmsg(3, [{{msg_hdr={{msg_iov=[{{iov_base="{hexed(ASKED)}", iov_len=32}}]}}}}], 1, 0) = 1',
    f'12 connect(3, {{sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("{hexed("1.2.3.4")}")}}, 16) = 0',
    f'12 connect(3, {{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("{hexed("127.0.0.1")}")}}, 16) = 0',
    "12 +++ exited with 0 +++",
]


@requirement("POOL-22")
def test_only_what_the_server_itself_did_is_seen() -> None:
    seen = read_notes(NOTES, "/usr/bin/server", "/home/me/work")
    assert "/home/me/.ssh" not in seen.read
    assert "/home/me/.secret" not in seen.read
    assert {"/home/me/.config/tool/settings.toml", "/home/me/work/notes.txt"} <= seen.read
    assert {"/home/me/.tool/cache", "/srv/data/db", "/srv/new/b"} <= seen.wrote
    assert seen.names == {"api.github.com"}
    assert seen.addresses == {"1.2.3.4"}


@requirement("POOL-22")
def test_the_table_has_what_was_used_and_no_secret() -> None:
    proposal = propose(read_notes(NOTES, "/usr/bin/server", "/home/me/work"), AROUND)
    assert proposal.table == SandboxTable(
        read=("~/.config/tool", "."),
        write=("~/.tool", "/srv/data", "/srv/new"),
        network=("api.github.com",),
    )
    assert any("~/.aws" in note and "not proposed" in note for note in proposal.notes)


@requirement("POOL-22")
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/evil", "is much more than one program needs"),
        ("/home/me", "is much more than one program needs"),
        ("/home/me/.config", "is much more than one program needs"),
        ("/home/me/.local/share", "is much more than one program needs"),
        ("/home/other", "is much more than one program needs"),
        ("/home/me/.bashrc", "decides what runs at your next login"),
        ("/home/me/.config/autostart/x.desktop", "decides what runs at your next login"),
        ("/home/me/.config/systemd/user/x.service", "decides what runs at your next login"),
        ("/home/me/.local/bin/git", "decides what runs at your next login"),
        ("/home/me/.cargo/bin/cargo", "decides what runs at your next login"),
        ("/home/me/.cargo/x", "decides what runs at your next login"),
        ("/home/me/.local/share/uv/tools/.lock", "holds programs that others run"),
        ("/home/me/.cache/uv/x", "holds programs that others run"),
        ("/home/me/.npm/_npx/x", "holds programs that others run"),
        ("/home/other/.ssh/authorized_keys", "lies in the home of somebody else"),
        *((f"{homes}/other/x", "lies in the home of somebody else") for homes in HOMES),
        ("/var/evil", "holds folders of the system"),
        ("/home/me/\u202egnp.exe", "has letters in its name that cannot be shown"),
        ("/home/me/\udcff", "has letters in its name that cannot be shown"),
        ("/home/me/\x1b[2J", "has letters in its name that cannot be shown"),
    ],
)
def test_a_server_that_wants_much_is_told_of_and_gets_nothing(path: str, said: str) -> None:
    """It knows it is watched, and touches what it would like to have."""
    proposal = propose(ObservedRun(set(), {path}, set(), set(), set()), AROUND)
    assert proposal.table == SandboxTable()
    (note,) = proposal.notes
    assert said in note
    assert note.isascii()


@requirement("POOL-22")
@pytest.mark.parametrize("leads_to", ["/home", "/home/me", "/home/me/.config", "/home/me/.local/bin", "/etc"])
def test_a_link_opens_no_more_than_what_it_leads_to_would(leads_to: str) -> None:
    seen = ObservedRun(set(), {"/mnt/link/file"}, set(), set(), set())
    assert propose(seen, AROUND).table == SandboxTable(write=("/mnt/link",))
    proposal = propose(seen, AROUND, {"/mnt/link": leads_to}.__getitem__)
    assert proposal.table == SandboxTable()
    assert proposal.notes[0].startswith("it wanted to write to /mnt/link, which ")


@requirement("POOL-22")
def test_folders_that_are_not_there_yet_are_told_apart_from_files() -> None:
    """A program that makes several at once asks for the deepest first, and is told that those around it lack."""
    refused = "-1 EROFS (Read-only file system)"
    notes = [
        NOTES[4],
        f'12 mkdir("{hexed("/home/me/.local/share/tool/deep")}", 0777) = -1 ENOENT (No such file or directory)',
        f'12 mkdir("{hexed("/home/me/.local")}", 0777) = {refused}',
        f'12 mkdirat(AT_FDCWD, "{hexed("/home/me/.more")}", 0777) = {refused}',
        opened("/home/me/.state/log", "O_WRONLY|O_CREAT", refused),
        opened("/home/me/.rc", "O_WRONLY|O_CREAT", refused),
    ]
    proposal = propose(read_notes(notes, "/usr/bin/server", "/home/me/work"), AROUND)
    assert proposal.table.write == ("~/.local/share/tool", "~/.more", "~/.rc", "~/.state")
    assert proposal.folders == ("/home/me/.local/share/tool", "/home/me/.more", "/home/me/.state")


@requirement("POOL-22")
@pytest.mark.parametrize("path", ["/home/me", "/home/me/.config", "/home/me/.local"])
def test_who_lists_the_home_folder_does_not_get_it(path: str) -> None:
    proposal = propose(ObservedRun({path}, set(), set(), set(), set()), AROUND)
    assert proposal.table == SandboxTable()
    assert "is much more than one program needs" in proposal.notes[0]


@pytest.mark.slow
@requirement("POOL-22")
def test_a_flood_is_bounded() -> None:
    notes = [NOTES[4], *(opened(f"/home/me/{number}", "O_WRONLY") for number in range(MAX_SEEN + 1000))]
    seen = read_notes(notes, "/usr/bin/server", "/home/me/work")
    assert len(seen.wrote) == MAX_SEEN
    proposal = propose(seen, AROUND)
    assert len(proposal.table.write) == MAX_NAMED
    assert f"{MAX_SEEN - MAX_NAMED} more places or hosts" in proposal.notes[0]
    noted = propose(ObservedRun(set(), {f"/home/me/.vim{name}/x" for name in range(1000)}, set(), set(), set()), AROUND)
    assert len(noted.table.write) == MAX_NAMED


@requirement("POOL-22")
def test_addresses_without_names_are_told() -> None:
    (note,) = propose(ObservedRun(set(), set(), set(), set(), {"1.2.3.4"}), AROUND).notes
    assert "1.2.3.4" in note


@pytest.mark.parametrize(
    ("packet", "name"), [(ASKED, "api.github.com"), (b"GET / HTTP/1.1\r\n\r\n", ""), (b"", ""), (ASKED[:14], "")]
)
def test_who_is_asked_for(packet: bytes, name: str) -> None:
    assert question(packet) == name


@requirement("POOL-22")
@pytest.mark.parametrize("address", [b"127.0.0.1", b"169.254.169.254", b"10.0.0.1", b"0x7f.1", b"x.localhost", b"1.2"])
def test_who_asks_for_an_address_is_not_proposed_it(address: bytes) -> None:
    """In a list of hosts it would open this machine."""
    labels = b"".join(bytes([len(label)]) + label for label in address.split(b"."))
    assert question(ASKED[:12] + labels + b"\0\0\x01\0\x01") == ""


@pytest.mark.parametrize("line", ["", "garbage", "12 openat(", '12 openat(AT_FDCWD, "', "x" * 10_000])
def test_odd_notes_are_passed_over(line: str) -> None:
    assert read_notes([line, *NOTES, line], "/usr/bin/server", "/w").names == {"api.github.com"}
