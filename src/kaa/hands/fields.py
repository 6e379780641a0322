"""Fields of a request, checked."""

from kaa.hands.wire import Header, WireError


def text(header: Header, name: str) -> str:
    """A field of a request that must be a text."""
    value = header.get(name)
    if not isinstance(value, str):
        raise WireError(f"{name!r} must be a text")
    return value


def integer(header: Header, name: str) -> int:
    """A field of a request that must be a whole number, not negative."""
    value = header.get(name)
    if not isinstance(value, int) or value < 0:
        raise WireError(f"{name!r} must be a whole number, not negative")
    return value


def texts(header: Header, name: str) -> list[str]:
    """A field of a request that must be a list of texts."""
    value = header.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise WireError(f"{name!r} must be a list of texts")
    return value


def pairs(header: Header, name: str) -> list[tuple[str, str]]:
    """A field of a request that must be a list of pairs of texts."""
    found = []
    for item in value if isinstance(value := header.get(name), list) else [None]:
        match item:
            case [str(first), str(second)]:
                found.append((first, second))
            case _:
                raise WireError(f"{name!r} must be a list of pairs of texts")
    return found


def text_map(header: Header, name: str) -> dict[str, str]:
    """A field of a request that must map texts to texts."""
    value = header.get(name)
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise WireError(f"{name!r} must map texts to texts")
    return value


def flag(header: Header, name: str) -> bool:
    """A field of a request that must be true or false."""
    value = header.get(name)
    if not isinstance(value, bool):
        raise WireError(f"{name!r} must be true or false")
    return value


def is_real(header: Header) -> bool:
    """Whether the paths of a request are real: an operation fails where a part of one is a symlink by now."""
    return "real" in header and flag(header, "real")


def mapping(header: Header, name: str) -> Header:
    """A field of a request that must be an object."""
    value = header.get(name)
    if not isinstance(value, dict):
        raise WireError(f"{name!r} must be an object")
    return value
