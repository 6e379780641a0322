"""Images that go with the next message: pasted from the clipboard, dropped on the terminal as a path, or named by `@`.

In the text each is a marker such as `[image #1]`; a marker that is deleted takes its image with it. One that is named
stays a name.
"""

import re
import shlex
from contextlib import suppress
from urllib.parse import unquote, urlsplit

from kaa.builtin.images import ImageError, image_type, prepare_image
from kaa.core.messages import ImageContent, UserMessage, user_message
from kaa.frontends.interactive.transcript.message_content import split_content
from kaa.workspace.protocol import Workspace

_MARKER = re.compile(r"\[image #(\d+)\]")
_NAME = re.compile(r"\.(png|jpe?g|gif|webp|bmp)$", re.IGNORECASE)
_MENTION = re.compile(r"""(?<![^\s("'=,:])@(?:"([^"\n]+)"|([^\s"]+))""")
_MOST_MENTIONED = 20
_MAX_PATH_CHARACTERS = 4096
_MAX_IMAGE_BYTES = 64 * 1024 * 1024


class Attachments:
    """The images of the message that is being written."""

    def __init__(self) -> None:
        self._images: dict[int, ImageContent] = {}
        self._next = 1

    def add(self, image: ImageContent) -> str:
        """Keep an image. Returns the marker to put into the text."""
        number, self._next = self._next, self._next + 1
        self._images[number] = image
        return f"[image #{number}]"

    def message(self, text: str) -> UserMessage:
        """The text with the images whose markers are still in it, in their order; they are let go of."""
        numbers = dict.fromkeys(int(number) for number in _MARKER.findall(text))
        images = tuple(self._images.pop(number) for number in numbers if number in self._images)
        return user_message(text, images)

    def take_back(self, message: UserMessage) -> str:
        """The text of a message that is to be changed and sent again, with new markers for its images."""
        _, images = split_content(message.content)
        markers = [self.add(image) for image in images]
        numbers = dict.fromkeys(_MARKER.findall(message.text))
        if len(numbers) != len(markers):  # some are not ours, or a hook or an earlier session has put images in
            return " ".join([message.text, *markers])
        renewed = dict(zip(numbers, markers, strict=True))
        return _MARKER.sub(lambda marker: renewed[marker[1]], message.text)


def dropped_image(text: str) -> str | None:
    """The path, if a pasted text is nothing but the path of an image, as terminals give it when a file is dropped.

    They quote it for a shell, escape its spaces or make it a file URL.
    """
    text = text.strip()
    if not text or len(text) > _MAX_PATH_CHARACTERS or "\n" in text:
        return None
    if text.startswith("file://"):
        text = unquote(urlsplit(text).path)
    elif not text.startswith(("/", "~", "./", "../", "'", '"')):
        return None
    else:
        try:
            words = shlex.split(text)
        except ValueError:
            return None
        if len(words) != 1:
            return None
        text = words[0]
    return text if _NAME.search(text) else None


async def read_image(workspace: Workspace, path: str) -> ImageContent:
    """An image of the project, or elsewhere as far as the sandbox shows it.

    Raises:
        ImageError: it is none, or cannot be used.
        OSError: it cannot be read.
    """
    info = await workspace.stat(path)
    if info is None:
        raise ImageError(f"there is no file {path}")
    if info.size > _MAX_IMAGE_BYTES:
        raise ImageError(f"{path} is larger than {_MAX_IMAGE_BYTES // 1024 // 1024} MB")
    return await as_content((await workspace.read(path)).data)


def mentioned_images(text: str) -> list[str]:
    """The paths of images that a text names by `@`, each once."""
    paths = (quoted or word.rstrip(",;:.!?)'\"") for quoted, word in _MENTION.findall(text))
    return [path for path in dict.fromkeys(paths) if _NAME.search(path)][:_MOST_MENTIONED]


async def with_mentioned(workspace: Workspace, message: UserMessage) -> UserMessage:
    """A message with the images that it names by `@`; what is none, or not there, stays a name to look up."""
    _, images = split_content(message.content)
    found = list(images)
    for path in mentioned_images(message.text):
        with suppress(ImageError, OSError):
            image = await read_image(workspace, path)
            if image not in found:  # a message that was taken back has it already
                found.append(image)
    return user_message(message.text, tuple(found)) if len(found) > len(images) else message


async def as_content(data: bytes) -> ImageContent:
    """An image as messages carry it, made small enough for models.

    Raises:
        ImageError: it is none, or cannot be used.
    """
    mime_type = image_type(data[:64])
    if mime_type is None:
        raise ImageError("unsupported image format: models accept PNG, JPEG, GIF and WebP")
    prepared = await prepare_image(data, mime_type)
    return ImageContent(prepared.base64, prepared.mime_type)
