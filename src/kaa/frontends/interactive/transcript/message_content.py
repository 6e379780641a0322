"""The content of messages taken apart."""

from collections.abc import Sequence

from kaa.core.messages import ImageContent, TextContent


def split_content(content: Sequence[TextContent | ImageContent] | str) -> tuple[str, list[ImageContent]]:
    """The text, and the images."""
    if isinstance(content, str):
        return content, []
    text = "\n".join(block.text for block in content if isinstance(block, TextContent))
    return text, [block for block in content if isinstance(block, ImageContent)]
