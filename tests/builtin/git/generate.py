"""`python -m tests.builtin.git.generate`: write what is listed of the tools, from the code."""

from clawft.builtin.git.family import RECIPES
from clawft.builtin.git.listed import FILE
from clawft.builtin.git.settings import GitSettings
from clawft.provider.function import definition_of


def lines() -> bytes:
    return b"".join(definition_of(recipe.tool(GitSettings())).tool.wire + b"\n" for recipe in RECIPES)


if __name__ == "__main__":
    FILE.write_bytes(lines())
