"""Programs that fetch others and run them start in the default sandbox, and leave the user's own folders alone."""

import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from clawft.sandbox.bounds import FoldersAround, bounds_of
from clawft.sandbox.cell import PYTHONS, with_own
from tests.requirements import requirement
from tests.sandbox.held import LEVELS, House

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")

UVX = Path(sys.executable).with_name("uvx")


def wheel(folder: Path) -> Path:
    """A package with one program in it, as small as they come."""
    about = "greeter-1.0.dist-info"
    files = {
        "greeter.py": "def main():\n    print('hello from a wheel')\n",
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": "[console_scripts]\ngreeter = greeter:main\n",
    }
    path = folder / "greeter-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
        packed.writestr(f"{about}/RECORD", "".join(f"{name},,\n" for name in (*files, f"{about}/RECORD")))
    return path


@pytest.mark.slow
@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_uvx_fetches_into_the_folder_of_its_server(house: House, level: str) -> None:
    if not UVX.exists():
        pytest.skip("uvx is missing; `make test` installs it")
    fetched = str(wheel(house.workspace))
    python = ("--python", sys.executable, "--no-python-downloads")
    ran = house.run(level, [str(UVX), "--offline", "--no-index", *python, "--from", fetched, "greeter"])
    assert ran.stdout == "hello from a wheel\n", ran.stderr
    assert not (house.home / ".local").exists()
    assert (house.state / "sandbox" / "held" / "uv-tools").is_dir()


MAKES = """
import os
for name in "UV_TOOL_DIR UV_PYTHON_INSTALL_DIR PIPX_HOME PIPX_BIN_DIR PIPX_MAN_DIR PNPM_HOME npm_config_cache".split():
    os.makedirs(os.environ[name], exist_ok=True)
    open(os.path.join(os.environ[name], "lock"), "w").close()
print("made")
"""


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_a_launcher_may_write_wherever_its_variables_say(house: House, level: str) -> None:
    ran = house.run(level, [sys.executable, "-c", MAKES])
    assert ran.stdout == "made\n", ran.stderr


@requirement("POOL-22")
@pytest.mark.parametrize(("setting", "seen"), [("auto", True), ("strict", False)])
def test_interpreters_that_uv_fetched_for_the_user_stay_in_use_where_they_are_seen(
    tmp_path: Path, setting: str, seen: bool
) -> None:
    home = str(tmp_path)
    around = FoldersAround(home=home, state=f"{home}/.clawft", workspace="/w", cwd="/w", own=f"{home}/.clawft/own")
    bounds = bounds_of(setting, around)
    assert bounds is not None
    assert with_own(bounds, {"HOME": home})[PYTHONS] == f"{home}/.clawft/own/uv-python"
    (tmp_path / ".local" / "share" / "uv" / "python").mkdir(parents=True)
    assert (PYTHONS not in with_own(bounds, {"HOME": home})) is seen
    shutil.rmtree(tmp_path / ".local")
    assert PYTHONS in with_own(bounds, {"HOME": home})
