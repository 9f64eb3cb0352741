"""What can be wrong with what the user gave, each with the exit code of the contract."""

from pathlib import Path

# What is read to find a launch or a setting in it; no such file needs more bytes.
MOST_BYTES = 8 << 20


class UserError(Exception):
    """A sentence for the user: what was wrong and what would be accepted."""

    exit_code = 2


class BadInput(UserError):
    """A malformed value, an unknown name, an unreadable or invalid file."""

    exit_code = 2


class NothingToDo(UserError):
    """An empty set of values, no file, no theorem or case selected."""

    exit_code = 3


class Inconclusive(UserError):
    """A solver answered unknown or met its limit."""

    exit_code = 4


class Vacuous(UserError):
    """Well-formed values of which the guards exclude all; emitted files out of date."""

    exit_code = 5


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """The content of a regular file of at most so many bytes; anything else is refused in one sentence."""
    try:
        if path.exists() and not path.is_file():
            raise BadInput(f"{path}: cannot be read (it is no regular file)")
        if most is not None and path.stat().st_size > most:
            raise BadInput(f"{path}: not read, as it is larger than {most >> 20} MiB")
        return path.read_bytes()
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or "a link that leads back to itself"
        raise BadInput(f"{path}: cannot be read ({why})") from None


def decoded(data: bytes, name: str) -> str:
    """Bytes as UTF-8 text; `name` is what they are read from."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{name}: cannot be read (no UTF-8: {error.reason})") from None


def read_text(path: Path, most: int | None = None) -> str:
    """The text of a regular file, its ends of lines as they are, as `read_bytes` reads it."""
    return decoded(read_bytes(path, most), str(path))
