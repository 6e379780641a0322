"""Titles of tool calls: templates of parameter names, such as `{path} ({count})`, filled without extension code."""

import json
import re
from collections.abc import Mapping

from kaa.core.messages import Json
from kaa.ext.errors import RegistrationError

_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_MOST_CHARACTERS = 200
# Of one value: beginnings of several say more than one whole.
_VALUE_CHARACTERS = 100
_MISSING = "…"


def checked_title(template: object, parameters: Mapping[str, Json]) -> str:
    """The title of a tool's calls.

    Args:
        template: names of parameters in braces, and text; `{{` and `}}` are braces.
        parameters: the JSON Schema of the tool's arguments.

    Raises:
        RegistrationError: it is not a text of one line, is too long, or names something that is no parameter.
    """
    if not isinstance(template, str) or len(template) > _MOST_CHARACTERS or not template.isprintable():
        raise RegistrationError(
            f"invalid title {str(template)[:80]!r}: use one line of at most {_MOST_CHARACTERS} characters"
        )
    known = parameters.get("properties")
    names = list(known) if isinstance(known, dict) else []
    for place in _PLACE.finditer(template):
        if place[0] not in ("{{", "}}") and place[1] not in names:
            raise RegistrationError(
                f"invalid title {template!r}: {place[0]} is not one of the parameters"
                f" {', '.join(f'{{{name}}}' for name in names) or '(there are none)'}"
            )
    return template


def filled_title(template: str, arguments: Mapping[str, Json]) -> str:
    """What a call is about, in a line: the template with arguments of the model, which can be anything."""
    from kaa.tui.sanitize import squeezed  # lazy: many turns call no tool

    def value(place: re.Match[str]) -> str:
        return place[0][0] if place[1] is None else _shown(arguments.get(place[1]))

    title = squeezed(_PLACE.sub(value, template))
    return title if len(title) <= _MOST_CHARACTERS else title[: _MOST_CHARACTERS - 1] + "…"


def _shown(value: Json) -> str:
    match value:
        case None:
            return _MISSING
        case str():
            text = value
        case _:
            text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _VALUE_CHARACTERS else text[: _VALUE_CHARACTERS - 1] + "…"
