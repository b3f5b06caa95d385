"""`weft config path`: which files are read."""

from __future__ import annotations

from pathlib import Path

from clawft.cli.parser import Options
from clawft.cli.screen import print_table
from clawft.cli.screen.document import print_json
from clawft.config.places import home_folder, server_files, spelled_in_text


def run(options: Options) -> int:
    home = home_folder()
    files = server_files(home, spelled_in_text(Path(options.workspace).resolve()), options.agent)
    rows = [(str(path), "read" if path.exists() else "not there") for path in files]
    if options.json:
        print_json({"home": str(home), "files": [{"path": path, "exists": state == "read"} for path, state in rows]})
    else:
        print_table(("FILE", "STATE"), rows)
    return 0
