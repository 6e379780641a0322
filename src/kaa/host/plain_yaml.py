"""Reads YAML of strangers as texts, lists and mappings: nothing else is built, and nothing expands."""

from typing import Any

_MAX_DEPTH = 10


def yaml_fields(text: str) -> dict[str, Any]:
    """The top level of a YAML document. Every scalar is text: `version: 1.10` is no number, `name: no` no boolean.

    Args:
        text: the document, of a length that the caller limits.

    Raises:
        ValueError: this is not YAML, not a mapping, or uses aliases.
    """
    import yaml  # lazy: 25 ms

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # wheels have the first, which is ten times as fast
    try:
        depth = 0
        for event in yaml.parse(text, loader):
            if isinstance(event, yaml.AliasEvent):  # a few of them expand to gigabytes
                raise ValueError("aliases (`*name`) are not supported")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise ValueError(f"more than {_MAX_DEPTH} lists or mappings inside each other")
        fields = yaml.load(text, loader)  # noqa: S506 builds nothing but texts, lists and dicts
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split()).replace('in "<unicode string>", ', "")) from error
    if not isinstance(fields, dict):
        raise ValueError("expected fields such as `name: my-extension`")
    return fields
