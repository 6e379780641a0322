"""Text that is proper Unicode. Halves of characters (surrogates) come from replies, files and old sessions."""

from kaa.core.messages import Json


def clean(text: str) -> str:
    """`text` without surrogates: two halves become the character they mean, a single one becomes U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_json(value: Json) -> Json:
    """`value` with every string cleaned."""
    match value:
        case str():
            return clean(value)
        case list() | tuple():
            return [clean_json(item) for item in value]
        case dict():
            return {clean(key): clean_json(item) for key, item in value.items()}
        case _:
            return value
