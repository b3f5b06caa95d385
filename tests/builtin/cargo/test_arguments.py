"""Which arguments reach cargo, and which are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.builtin.cargo.arguments import MAX_ARGUMENT_CHARS, MAX_ARGUMENTS, argv_of, check_argument
from clawft.builtin.cargo.family import Cargo, Subcommand
from clawft.errors import ExecutionFailed
from tests.requirements import requirement

SUBCOMMANDS: tuple[Subcommand, ...] = ("build", "test", "clippy", "check", "publish")
JSON = "--message-format=json"


@requirement("CARGO-04", "F2-A05")
def test_arguments_are_a_list_in_a_fixed_order() -> None:
    assert argv_of(Cargo("build")) == ["build", JSON]
    everything = Cargo("build", "release", "sums", True, ("a", "b/c"), "x86_64-unknown-linux-gnu", ("--locked",))
    assert argv_of(everything) == [
        "build",
        "--release",
        "--workspace",
        "-p",
        "sums",
        "--features",
        "a",
        "--features",
        "b/c",
        "--target",
        "x86_64-unknown-linux-gnu",
        JSON,
        "--locked",
    ]  # fmt: skip - words of one line


@requirement("CARGO-04")
def test_a_flag_a_subcommand_does_not_take_is_left_out() -> None:
    assert argv_of(Cargo("publish", "release", workspace=True)) == ["publish", "--workspace"]


@requirement("CARGO-06")
@pytest.mark.parametrize("subcommand", SUBCOMMANDS)
def test_json_is_asked_for_where_it_is_promised(subcommand: Subcommand) -> None:
    assert (JSON in argv_of(Cargo(subcommand))) == (subcommand in ("build", "clippy", "check"))


@requirement("CARGO-05", "test_validate_arg_rejects_semicolons", "test_validate_arg_rejects_pipes", "F2-A03")
@pytest.mark.parametrize("letter", [*";&|$`(){}<>!\r\n\0"])
def test_shell_syntax_is_refused_and_quoted(letter: str) -> None:
    argument = f"my{letter}crate"
    with pytest.raises(ExecutionFailed) as refused:
        check_argument(argument)
    assert refused.value.message == f"invalid params: {argument!r} contains {letter!r}"
    for asked in (Cargo("build", package=argument), Cargo("build", extra_args=(argument,))):
        with pytest.raises(ExecutionFailed, match="invalid params: "):
            argv_of(asked)


@requirement("CARGO-05", "test_validate_arg_accepts_clean")
@pytest.mark.parametrize("argument", ["my-crate", "sums@1.0.0", "a/b", "größe", "--all-features", "x86_64-linux"])
def test_a_clean_argument_passes(argument: str) -> None:
    assert check_argument(argument) == argument


@requirement("CARGO-05")
@pytest.mark.parametrize(
    "asked",
    [
        Cargo("build", package="--config"),
        Cargo("build", package=""),
        Cargo("build", features=("-Zunstable",)),
        Cargo("build", target="--config=x"),
        Cargo("build", target="evil.json"),
        Cargo("build", target="../target"),
    ],
)
def test_a_value_is_never_taken_for_a_flag(asked: Cargo) -> None:
    with pytest.raises(ExecutionFailed, match="cannot be"):
        argv_of(asked)


@requirement("CARGO-05", "CARGO-08")
@pytest.mark.parametrize(
    ("subcommand", "extra"),
    [
        ("build", ["--config", "build.rustc-wrapper=evil"]),
        ("build", ["--config=build.rustc-wrapper=evil"]),
        ("build", ["-Zbuild-std"]),
        ("build", ["-Z", "x"]),
        ("build", ["+nightly"]),
        ("build", ["-C", "/etc"]),
        ("build", ["--target-dir", "/tmp"]),
        ("build", ["--artifact-dir=/tmp"]),
        ("build", ["--lockfile-path", "/tmp/Cargo.lock"]),
        ("build", ["--message-format=human"]),
        ("build", ["--timings"]),
        ("build", ["-p", "x"]),
        ("build", ["a-word"]),
        ("build", ["--", "-D", "warnings"]),
        ("build", ["--jobs", "many"]),
        ("build", ["--jobs"]),
        ("build", ["--bin", "--config"]),
        ("build", ["--lib=x"]),
        ("clippy", ["--fix"]),
        ("clippy", ["--", "-C", "linker=evil"]),
        ("clippy", ["--", "-D", "-C"]),
        ("clippy", ["--", "some_file.rs"]),
        ("test", ["--", "--logfile", "x"]),
        ("test", ["--", "-Zunstable-options"]),
        ("publish", ["--token", "x"]),
        ("publish", ["--index", "https://evil"]),
        ("publish", ["--registry=evil"]),
        ("publish", ["--dry-run"]),
    ],
)
def test_flags_that_are_not_on_the_list_are_refused(subcommand: Subcommand, extra: list[str]) -> None:
    with pytest.raises(ExecutionFailed, match="invalid params: "):
        argv_of(Cargo(subcommand, extra_args=extra))


@requirement("CARGO-05")
@pytest.mark.parametrize(
    ("subcommand", "extra", "passed"),
    [
        ("build", ["--features=a,b", "-j", "2", "-v"], ["--features", "a,b", "-j", "2", "-v"]),
        ("build", ["--manifest-path", "sums/Cargo.toml"], ["--manifest-path", "sums/Cargo.toml"]),
        ("test", ["good", "--no-fail-fast"], ["good", "--no-fail-fast"]),
        (
            "test",
            ["--", "good", "--skip", "bad", "--test-threads=1"],
            ["--", "good", "--skip", "bad", "--test-threads", "1"],
        ),
        ("clippy", ["--", "-D", "warnings", "-A", "clippy::all"], ["--", "-D", "warnings", "-A", "clippy::all"]),
        ("publish", ["--allow-dirty"], ["--allow-dirty"]),
    ],
)
def test_harmless_flags_pass(subcommand: Subcommand, extra: list[str], passed: list[str]) -> None:
    assert argv_of(Cargo(subcommand, extra_args=extra))[-len(passed) :] == passed


@requirement("CARGO-05")
def test_arguments_have_a_bound_and_errors_stay_short() -> None:
    with pytest.raises(ExecutionFailed, match=f"the bound is {MAX_ARGUMENTS}"):
        argv_of(Cargo("build", extra_args=["-v"] * (MAX_ARGUMENTS + 1)))
    for asked in (Cargo("build", package="x" * 10_000_000), Cargo("build", extra_args=("--" + "x" * 10_000_000,))):
        with pytest.raises(ExecutionFailed, match=f"the bound is {MAX_ARGUMENT_CHARS}") as refused:
            argv_of(asked)
        assert len(str(refused.value)) < 500


@requirement("CARGO-05")
@given(
    st.sampled_from(SUBCOMMANDS),
    st.lists(st.text(max_size=20) | st.sampled_from(["--", "-j", "--config", "-p"]), max_size=6),
)
def test_whatever_is_given_no_other_flag_gets_through(subcommand: Subcommand, extra: list[str]) -> None:
    try:
        argv = argv_of(Cargo(subcommand, extra_args=extra))
    except ExecutionFailed:
        return
    assert argv[0] == subcommand
    assert not [word for word in argv if word.startswith(("--config", "-Z", "--token", "--target-dir", "-p"))]
