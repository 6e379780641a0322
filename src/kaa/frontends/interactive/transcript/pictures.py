"""Images of a message, as far as the terminal and the user want them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kaa.core.messages import ImageContent
from kaa.frontends.interactive.transcript.view_options import ViewOptions

if TYPE_CHECKING:
    from kaa.tui.components.image import Graphics, Image


class Pictures:
    def __init__(self, view: ViewOptions, images: Sequence[ImageContent] = ()) -> None:
        self._view = view
        self._contents = tuple(images)
        self._images: list[Image] = []
        self._graphics: Graphics | None = None  # that they were made for

    def render(self, width: int) -> list[str]:
        """Their lines, or a line about each; none without images."""
        view = self._view
        graphics = view.graphics if view.images and not view.linear else None
        if len(self._images) != len(self._contents) or graphics is not self._graphics:
            self._graphics = graphics
            self._images = [self._image(content) for content in self._contents]
        return [line for image in self._images for line in image.render(width)]

    def _image(self, content: ImageContent) -> "Image":
        # Lazily: most sessions have no images.
        from base64 import b64decode

        from kaa.tui.components.image import Graphics, Image

        try:
            data = b64decode(content.data)
        except ValueError:
            data = b""  # which is described as what cannot be read
        return Image(self._view.context, data, self._graphics or Graphics(), self._view.image_columns)
