"""Puts images into the message that is being written: from the clipboard, or dropped on the terminal."""

import os

from kaa.core.messages import ImageContent
from kaa.frontends.interactive.attachments import Attachments, as_content, read_image
from kaa.frontends.interactive.clipboard_image import read_clipboard_image
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.ui_context import UIContext


class ImageInput:
    """Takes images.

    Args:
        ui: the screen, the core and lists.
        attachments: keep them until the message is sent.
    """

    def __init__(self, ui: UIContext, attachments: Attachments) -> None:
        self._ui = ui
        self._attachments = attachments

    def paste(self) -> None:
        """Take the image in the clipboard."""

        async def read(_engine: Engine) -> ImageContent:
            return await as_content(await read_clipboard_image(os.environ))

        self._ui.call(read, self._attach, lambda error: self._ui.say(str(error), "warning"))

    def drop(self, path: str) -> None:
        """Take the image whose path was dropped on the terminal; the path itself if that cannot be done."""

        def instead(error: BaseException) -> None:
            self._ui.main_view.editor.insert(path)
            self._ui.say(f"{error}; its path was inserted", "warning")

        self._ui.call(lambda engine: read_image(engine.workspace, path), self._attach, instead)

    def _attach(self, image: ImageContent) -> None:
        self._ui.main_view.editor.insert(self._attachments.add(image) + " ")
        self._ui.refresh()
