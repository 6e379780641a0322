"""The secrets that are in use on this machine, so that they are found in what leaves it."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from kaa.core.messages import Json
from kaa.shell.home import Home

# One of the words that the name of a variable consists of.
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_|$)",
    re.IGNORECASE,
)


def known_secrets(environ: Mapping[str, str], home: Home) -> list[str]:
    """Values of variables that are named like secrets, and what is kept in `auth.json`. Reads a file."""
    from_variables = (value for name, value in environ.items() if _SECRET_NAME.search(name))
    return [*from_variables, *_stored(home)]


def _stored(home: Home) -> Iterator[str]:
    try:
        kept = msgspec.json.decode((home.path / "auth.json").read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return  # whoever needs a key says what is wrong with it
    yield from _texts(kept)


def _texts(value: Json) -> Iterator[str]:
    match value:
        case dict():
            for name, item in value.items():
                if name != "type":
                    yield from _texts(item)
        case str() if not value.startswith(("$", "!")):  # what names a variable or a command is no secret
            yield value
        case _:
            return
