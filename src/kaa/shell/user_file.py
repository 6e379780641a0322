"""Reads the user's JSON files that the first frame needs. *Stage 1*: loaded before the first frame."""

import json

from kaa.host.regular_files import regular

_MOST_CHARACTERS = 8 * 1024 * 1024  # it may be a link to what commands can write


class UserFileError(ValueError):
    """The file cannot be used; the message names it and says why."""


def read_json(file: str) -> object:
    """What the file says; None if there is no file or nothing in it. Comments and trailing commas are allowed.

    Raises:
        UserFileError: it cannot be read, or is not JSON.
    """
    try:
        with open(file, encoding="utf-8-sig", opener=regular) as stream:
            text = stream.read(_MOST_CHARACTERS + 1)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else wrong_encoding(error)
        raise UserFileError(f"{file} cannot be read: {reason}") from error
    if len(text) > _MOST_CHARACTERS:
        raise UserFileError(f"{file} is not used: it has more than {_MOST_CHARACTERS >> 20} MiB")
    if not text.strip():
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _lenient(file, text)


def wrong_encoding(error: UnicodeDecodeError) -> str:
    """Why a file that is not UTF-8 cannot be read, and what to do. Editors of Windows like to write UTF-16."""
    found = "UTF-16" if error.object[:2] in (b"\xff\xfe", b"\xfe\xff") else "not UTF-8"
    return f"it is {found}. Save it as UTF-8"


def _lenient(file: str, text: str) -> object:
    # Few files have comments; only they pay for what reads them.
    from kaa.llm import jsonc

    try:
        plain = jsonc.to_json(text)
        return json.loads(plain) if plain.strip() else None
    except (ValueError, RecursionError) as error:
        raise UserFileError(f"{file} is not JSON: {error}") from error
