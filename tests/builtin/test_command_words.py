"""How a command becomes words, held against a real shell; and what only a shell would make of it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clawft.builtin import command_words
from clawft.builtin.command_words import check_globs, read_command
from clawft.errors import InvalidArguments
from tests.requirements import requirement

BASH = shutil.which("bash")


def words_of(command: str, folder: Path) -> list[str]:
    words = read_command(command)
    check_globs(words, str(folder))
    return [each.text for each in words]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.py", ".hidden.py", "sub/b.py", "sub/deep/c.py", "[x]"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "behind").symlink_to("/etc")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("cat a | grep b", "run the commands one after the other and pass the output on"),
        ("make > log 2>&1", "stdout and stderr are returned separately"),
        ("cd x && make", "one after the other"),
        ("sleep 5 &", "nothing can stay in the background"),
        ("echo $HOME", "variables are not expanded"),
        ('echo "a$HOME"', "variables are not expanded"),
        ('echo "$(id)"', "variables are not expanded"),
        ('echo "${HOME}"', "variables are not expanded"),
        ("echo $'a'", "variables are not expanded"),
        ('echo $"a"', "variables are not expanded"),
        ("kill $!", "variables are not expanded"),
        ("echo `id`", "run the inner command first"),
        ('echo "`id`"', "run the inner command first"),
        ("a\nb", "'line break' has no meaning"),
        ("echo 'open", "check the quotes"),
        ('echo "open', "check the quotes"),
        ("echo a\\", "check the quotes"),
        ("   ", "the command is empty"),
        ("''", "the command is empty"),
        ("echo a\0b", "null byte"),
        ("cat ~/.bashrc", "write the path of the folder"),
        ("ls ~", "write the path of the folder"),
        ("mkdir -p src/{a,b}", "write each of the words"),
        ("touch f{1..3}", "write each of the words"),
        ("FOO=1 printenv FOO", "put env before it"),
        ("PATH=/x:$PATH make", "variables are not expanded"),
        ("cd /tmp", "`cwd`"),
        ("command -v git", "which NAME"),
        ("type git", "which NAME"),
        ("export A=1", "env NAME=VALUE"),
        ("source .venv/bin/activate", "bash -c"),
        (". ./env", "bash -c"),
        ("[[ -f x ]]", "bash -c"),
    ],
)
@requirement("EXEC-01")
def test_what_only_a_shell_understands_is_refused_with_a_way_out(command: str, said: str) -> None:
    with pytest.raises(InvalidArguments) as told:
        read_command(command)
    assert said in str(told.value)


@pytest.mark.skipif(BASH is None, reason="no bash to compare with")
@pytest.mark.parametrize(
    "command",
    [
        "grep '|' 'a;b' \"c&d\"",
        r"echo \$5 a\|b \~ \*",
        "awk '{print $1}' f\n",
        r'echo "say \"hi\"" "\$5" "\`id\`" "a\\b" "a\nb" "a\'b"',
        'grep "foo$" f',
        'grep -c "^$" f',
        'sed -e "/^$/d" "s/$/;/" f',
        'echo "$ 5" 5$ $',
        "echo a'b'\"c\"d '' \"\"",
        "echo one \\\n  two th\\\nree",
        "find . -name '*.py' -exec wc -l {} +",
        "find . -name *.txt",
        "find . -name \\*.py",
        "grep -r --include=*.py x .",
        "npm run test:*",
        "curl http://localhost/?a=b",
        "sed -n /foo.*/p f",
        "git show stash@{0} HEAD~1 a~ --prefix=~/x",
        "echo [a b] [ x ]",
        "echo 'sub'/*.txt sub/*/*.txt",
        "echo {a} {} 'a{b,c}'",
    ],
)
@requirement("EXEC-01")
def test_words_are_those_of_a_shell(command: str, folder: Path) -> None:
    """What is left alone here is left alone there."""
    shown = f"show() {{ printf '%s\\0' \"$@\"; }}; show {command}"
    done = subprocess.run([str(BASH), "-c", shown], cwd=folder, capture_output=True, check=True, text=True)
    assert words_of(command, folder) == done.stdout.split("\0")[:-1]


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("*.py", "a.py"),
        ("sub/*.py", "sub/b.py"),
        ("*/*/?.py", "sub/deep/c.py"),
        ("./sub//[a-c].py", "sub/b.py"),
        (".*.py", ".hidden.py"),
        ("'sub'/*", "sub/b.py, sub/deep"),
        ("/e*", ""),
        ("/etc/no-such-file-*", ""),
        ("../*", ""),
        ("behind/no-such-*", ""),
        ("*/no-such-*", ""),
        ("/".join("*" * 5_000), ""),
    ],
)
@requirement("EXEC-01")
def test_a_glob_that_names_files_is_refused_and_names_those_of_the_workspace(
    word: str, names: str, folder: Path
) -> None:
    """Of what lies behind a link, or outside, nothing is told: not even whether it is there."""
    with pytest.raises(InvalidArguments, match="is not expanded") as told:
        words_of(f"rm -f {word}", folder)
    assert told.value.hint.startswith(f"name the files ({names}, …)" if names else "name the files, or")


def test_looking_has_an_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder may have millions of names: then it counts as one of which some match."""
    assert words_of("rm -f *.log *.txt", folder) == ["rm", "-f", "*.log", "*.txt"]
    monkeypatch.setattr(command_words, "MAX_LOOKED_AT", 3)
    with pytest.raises(InvalidArguments, match="is not expanded"):
        words_of("rm -f *.log", folder)


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_names_with_marks_in_them_are_only_names_where_they_are_quoted(folder: Path) -> None:
    assert words_of("rm '[x]' \\[x\\]", folder) == ["rm", "[x]", "[x]"]
