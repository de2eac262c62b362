"""Reading of whole files, and recognition of foreign content."""

from __future__ import annotations

from pathlib import Path

from deepphase.errors import FormatError

# First bytes -> foreign content that users give as a motion file.
_FOREIGN = {
    b"version https://git-lfs": "a Git LFS pointer: fetch the file itself with git lfs pull",
    b"PK\x03\x04": "a zip archive",
    b"\x93NUMPY": "a single .npy array",
    b"Kaydara FBX Binary": "an FBX file",
    b"glTF": "a .glb file",
    b"HIERARCHY": "a BVH file",
    b"<": "a web page or other markup",
    b"\x1f\x8b": "a gzip archive: unpack it",
}
FRONT_BYTES = 64


def check_is_file(path: Path) -> None:
    """Refuse pipes, folders and devices. Raises FormatError, OSError or ValueError."""
    # Opening a missing file raises the appropriate error later.
    if path.exists() and not path.is_file():
        raise FormatError("cannot be read: not a file", path=path)


def read_text(path: Path) -> str:
    """All text of a UTF-8 file, with or without a byte order mark; raises FormatError."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise FormatError(
            f"cannot be read: {error.strerror or error}", hint="check the path", path=path
        ) from None
    except UnicodeDecodeError:
        raise FormatError("text that is not UTF-8", hint="save it as UTF-8", path=path) from None


def read_content(path: Path) -> bytes:
    """All bytes of a file; FormatError if it cannot be read or is empty."""
    try:
        check_is_file(path)
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FormatError(f"cannot be read: {reason}", path=path) from None
    if not content:
        raise FormatError("this is an empty file", path=path, hint="copy or export the file again")
    return content


def foreign_content(content: bytes) -> str:
    """Description of foreign content by its first bytes; empty if it is not recognized."""
    front = content[:FRONT_BYTES].lstrip()
    return next((what for begin, what in _FOREIGN.items() if front.startswith(begin)), "")
