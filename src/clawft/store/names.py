"""File names for any text: nothing can climb out of its folder, and two texts never share a name."""

MAX_FILE_NAME = 200

_DIGITS_AND_MARKS = "0123456789-_."
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz" + _DIGITS_AND_MARKS)
_BOTH = _LOWER | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")

KEY = "k."
HASHED_KEY = "h."


def folder_name(text: str) -> str:
    """A folder for an agent or a plugin: an ordinary name stays as it is."""
    return _shortened(_escaped(text, _BOTH)) or "%"


def key_name(key: str) -> str:
    """A file for a key. Capitals are escaped too, for file systems that ignore case."""
    escaped = _escaped(key, _LOWER)
    return KEY + escaped if len(escaped) <= MAX_FILE_NAME else HASHED_KEY + _digest(key)


def _escaped(text: str, kept: frozenset[str]) -> str:
    """`%xx` for every byte of a character that is not kept, and for a dot at either end."""
    escaped = "".join(char if char in kept else _percent(char) for char in text)
    if escaped.startswith("."):
        escaped = "%2e" + escaped[1:]
    return escaped[:-1] + "%2e" if escaped.endswith(".") else escaped


def _percent(char: str) -> str:
    return "".join(f"%{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_FILE_NAME else f"{name[:100]}%{_digest(name)}"


def _digest(text: str) -> str:
    import hashlib  # loads OpenSSL; only overlong names need it

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
