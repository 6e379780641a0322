"""Images that go with the next message: pasted from the clipboard, dropped on the terminal as a path, or named by `@`.

In the text each is a marker such as `[image #1]`; a marker that is deleted takes its image with it. One that is named
stays a name.
"""

import os
import re
import shlex
from collections.abc import Callable, Mapping
from urllib.parse import unquote, urlsplit

import msgspec

from kaa.builtin.images import ImageError, image_type, prepare_image
from kaa.core.messages import ImageContent, TextContent, UserMessage, user_message
from kaa.ext.invocation import as_message
from kaa.frontends.interactive.transcript.user_message import split_content
from kaa.shell.attachments import AttachmentError, PermitSecret, attach, is_resource, missing
from kaa.workspace.protocol import NamedFiles

_MARKER = re.compile(r"\[image #(\d+)\]")
_NAME = re.compile(r"\.(png|jpe?g|gif|webp|bmp)$", re.IGNORECASE)
# Of names without a directory, those that are meant as files and not as attributes.
_ENDING = re.compile(
    r"\.(c|cc|cfg|conf|cpp|css|csv|go|h|html|ini|ipynb|java|js|json|jsx|kt|lock|log|md|pdf|php|png|py|rb|rs|rst|sh|sql|svg"
    r"|toml|ts|tsx|txt|xml|yaml|yml|jpe?g|gif|webp|bmp)$",
    re.IGNORECASE,
)
_MENTION = re.compile(r"""(?<![^\s("'=,:])@(?:"([^"\n]+)"|([^\s"]+))""")
_MOST_MENTIONED = 20
_MAX_PATH_CHARACTERS = 4096
_NO_IMAGE = "unsupported image format: models accept PNG, JPEG, GIF and WebP"


def without_numbers(text: str) -> str:
    """A text as it is whatever numbers its images got."""
    return _MARKER.sub("[image]", text)


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

    def held(self, text: str) -> dict[int, ImageContent]:
        """The images whose markers are in a text, by number; they stay."""
        numbers = dict.fromkeys(int(number) for number in _MARKER.findall(text))
        return {number: self._images[number] for number in numbers if number in self._images}

    def renewed(self, text: str, images: Mapping[int, ImageContent]) -> str:
        """A text with markers of images that another process kept, with other markers for those whose number is taken.

        Args:
            images: by the numbers in the text's markers.
        """
        markers: dict[int, str] = {}
        for number, image in images.items():
            if number in self._images:
                markers[number] = self.add(image)
            else:
                self._images[number] = image
                self._next = max(self._next, number + 1)
        return _MARKER.sub(lambda marker: markers.get(int(marker[1]), marker[0]), text)

    def take_back(self, message: UserMessage) -> str:
        """The text of a message that is to be changed and sent again, with new markers for its images.

        Nobody needs to have typed it here: it remains a message.
        """
        message, text = message.said, as_message(message.said.text)
        _, images = split_content(message.content)
        markers = [self.add(image) for image in images]
        numbers = dict.fromkeys(_MARKER.findall(text))
        if len(numbers) != len(markers):  # some are not ours, or a hook or an earlier session has put images in
            return " ".join([text, *markers])
        renewed = dict(zip(numbers, markers, strict=True))
        return _MARKER.sub(lambda marker: renewed[marker[1]], text)


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


async def read_image(files: NamedFiles, path: str, permit: PermitSecret) -> ImageContent:
    """An image that the user named.

    Raises:
        ImageError: it cannot be read, or is none.
    """
    try:
        image = (await attach(path, files, permit)).image
    except AttachmentError as error:
        raise ImageError(str(error).removeprefix("@")) from error
    if image is None:
        raise ImageError(f"{path}: {_NO_IMAGE}")
    return image


def mentioned(text: str) -> list[str]:
    """The paths that a text names by `@`, each once."""
    paths = (quoted or word.rstrip(",;:.!?)'\"") for quoted, word in _MENTION.findall(text))
    return [path for path in dict.fromkeys(paths) if path][:_MOST_MENTIONED]


async def with_mentioned(
    files: NamedFiles, message: UserMessage, permit: PermitSecret, tell: Callable[[str], None]
) -> UserMessage:
    """A message with the images that it names by `@`, and with the files outside the project.

    They are marked as added, so that the message comes back as it was typed. Other files of the project stay names, for
    the model to read. So does what cannot be attached; the user learns why if it was a path for certain.

    Args:
        tell: told, in a sentence, what was not attached.
    """
    text, images = split_content(message.content)
    known = {image.data for image in images}
    found: list[TextContent | ImageContent] = []
    for path in mentioned(text):
        if is_resource(path):
            continue
        outside = path.startswith(("/", "~/", "../")) and not path.startswith(f"{files.root}/")
        if not outside and not _NAME.search(path):
            if _is_file_name(path, files.root) and (error := await missing(path, files)):
                tell(f"{error}; only its name is sent")
            continue
        try:
            attached = await attach(path, files, permit)
        except AttachmentError as error:
            is_missing = isinstance(error.__cause__, FileNotFoundError)
            if not is_missing or (_is_in_directory(path) if outside else _is_file_name(path, files.root)):
                tell(f"{error}; only its name is sent")
            continue
        if attached.image is not None:
            if attached.image.data not in known:  # a message that was taken back has it already
                known.add(attached.image.data)
                found.append(msgspec.structs.replace(attached.image, added=True))
        elif not outside:  # only its name is that of an image
            tell(f"@{path} is no image that kaa knows; only its name is sent")
        elif attached.text not in text:
            found.append(TextContent(f"\n{attached.text}", added=True))
    if not found:
        return message
    content = (TextContent(message.content),) if isinstance(message.content, str) else message.content
    return msgspec.structs.replace(message, content=(*content, *found))


def _is_file_name(path: str, root: str) -> bool:
    """Whether it is meant as a file of the project, and no decorator `@app.route` or package `@types/node`."""
    folder, slash, _ = path.rpartition("/")
    return os.path.isdir(os.path.join(root, folder)) if slash else _ENDING.search(path) is not None


def _is_in_directory(path: str) -> bool:
    """Whether it is meant as a path, and no module like "@/components/Button"."""
    return os.path.isdir(os.path.dirname(os.path.expanduser(path)))


async def as_content(data: bytes) -> ImageContent:
    """An image as messages carry it, made small enough for models.

    Raises:
        ImageError: it is none, or cannot be used.
    """
    mime_type = image_type(data[:64])
    if mime_type is None:
        raise ImageError(_NO_IMAGE)
    prepared = await prepare_image(data, mime_type)
    return ImageContent(prepared.base64, prepared.mime_type)
