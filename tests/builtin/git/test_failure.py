"""What git says, as errors that help."""

import pytest

from clawft.builtin.git.failure import failed
from clawft.builtin.git.run import GitOutput
from tests.requirements import requirement


@requirement("GIT-10")
@pytest.mark.parametrize(
    ("err", "told"),
    [
        ("fatal: bad revision 'nope'\n", "t: unknown revision 'nope'"),
        ("fatal: ambiguous argument 'a..b': unknown revision or path not in\n", "t: unknown revision 'a..b'"),
        ("fatal: invalid reference: nope\n", "t: unknown revision 'nope'"),
        ("fatal: Unable to create '/r/.git/index.lock': File exists.\n", "another git is working here"),
        ("fatal: Unable to create '/r/.git/index.lock': Read-only file system\n", "Read-only file system"),
        (
            "ssh: Could not resolve hostname github.com: x\nfatal: Could not read\n",
            "the host 'github.com' is not known",
        ),
        ("fatal: unable to access 'https://x/': Could not resolve host: x\n", "the host 'x' is not known"),
        (
            "fatal: unable to access 'https://x/': CONNECT tunnel failed, response 502\n",
            "'https://x/' cannot be reached",
        ),
        (
            "fatal: unable to access 'https://x/': Received HTTP code 502 from proxy after CONNECT\n",
            "'https://x/' cannot",
        ),
        ("ssh -oBatchMode=yes: 1: ssh: not found\nfatal: Could not read\n", "there is no ssh"),
        ("git@github.com: Permission denied (publickey).\nfatal: x\n", "needs a login"),
        ("fatal: could not read Username for 'https://x': terminal prompts disabled\n", "needs a login"),
        ("fatal: transport 'ext' not allowed\n", "git may not use 'ext' here"),
        ("error: Your local changes would be overwritten by merge:\n\ta\n", "local changes would be lost"),
        ("Receiving objects: 3%\rReceiving: 4%\rerror: one\nfatal: two\nhint: three\n", "t: one; two"),
        ("", "t: git ended with 128"),
        (f"fatal: {'x' * 5000}", " …"),
        ("fatal: {0} odd {} words\n", "t: {0} odd {} words"),
    ],
)
def test_errors_say_what_happened(err: str, told: str) -> None:
    error = failed("t", GitOutput(128, b"", err))
    assert told in error.message
    assert len(str(error)) < 1000
