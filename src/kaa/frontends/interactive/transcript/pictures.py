"""Images of a message, as far as the terminal and the user want them."""

from collections.abc import Sequence

from kaa.core.messages import ImageContent
from kaa.frontends.interactive.transcript.view import View


class Pictures:
    """Images below each other."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._images: tuple[ImageContent, ...] = ()

    def show(self, images: Sequence[ImageContent]) -> None:
        """Show these."""
        self._images = tuple(images)

    def render(self, width: int) -> list[str]:
        """Their lines; none without images."""
        return []
