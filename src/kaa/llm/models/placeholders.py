"""Addresses that depend on the user's account: `https://{AZURE_OPENAI_RESOURCE_NAME}.openai.azure.com`."""

import re
from collections.abc import Callable, Mapping
from urllib.parse import quote

_PLACEHOLDER = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")
# Where the vendors' own programs look if the first name is not set.
_OTHER_NAMES = {
    "AWS_REGION": ("AWS_DEFAULT_REGION",),
    "GOOGLE_CLOUD_PROJECT": ("GCLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID"),
    "GOOGLE_CLOUD_LOCATION": ("GOOGLE_CLOUD_REGION", "CLOUD_ML_REGION"),
}


def filled(url: str, variables: Mapping[str, str]) -> str:
    """`url` with its placeholders replaced. A value is quoted: it can never become another host or path.

    Raises:
        KeyError: a variable is not set; the argument is its name.
    """

    def value(match: re.Match[str]) -> str:
        return quote(_value(match[1], variables), safe="")

    return _PLACEHOLDER.sub(value, url)


def missing(url: str, variables: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that `url` needs and that are not set."""
    names: dict[str, None] = {}
    for name in _PLACEHOLDER.findall(url):
        try:
            _value(name, variables)
        except KeyError as error:
            names[error.args[0]] = None
    return tuple(names)


def _value(name: str, variables: Mapping[str, str]) -> str:
    if name in _DERIVED:
        return _DERIVED[name](variables)
    for candidate in (name, *_OTHER_NAMES.get(name, ())):
        if found := variables.get(candidate, "").strip():
            return found
    raise KeyError(name)


def _vertex_host(variables: Mapping[str, str]) -> str:
    """The host of a location, as the vendors' SDKs build it."""
    match _value("GOOGLE_CLOUD_LOCATION", variables):
        case "global":
            return "aiplatform.googleapis.com"
        case ("us" | "eu") as region:
            return f"aiplatform.{region}.rep.googleapis.com"
        case location:
            return f"{location}-aiplatform.googleapis.com"


_DERIVED: dict[str, Callable[[Mapping[str, str]], str]] = {"GOOGLE_VERTEX_HOST": _vertex_host}
