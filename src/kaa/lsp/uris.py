"""Files as language servers name them."""

from urllib.parse import quote, unquote, urlsplit

_PLAIN = "+/:@!$&'()*,;=~"


def uri_of(path: str) -> str:
    """The URI of an absolute path."""
    return f"file://{quote(path, safe=_PLAIN)}"


def path_of(uri: str) -> str | None:
    """The path that a URI names; None if it names no file. Servers escape characters in ways of their own."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        return None
    path = unquote(parts.path)
    return None if "\0" in path else path
