"""Turns what a user gives with a message (`@files`, piped text) into content that models read."""

import os
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import msgspec

from kaa.core.messages import ImageContent, UserMessage, user_message
from kaa.workspace.protocol import NamedFile, NamedFiles

# Larger than any source file a person attaches, small enough for every model's window to say no by itself.
_MAX_TEXT_BYTES = 1024 * 1024
_MAX_IMAGE_BYTES = 64 * 1024 * 1024
_HEAD_BYTES = 64

# The name of a server, and the beginning of a URI (RFC 3986, section 3.1).
_RESOURCE = re.compile(r"[A-Za-z0-9_-]{1,40}:[A-Za-z][A-Za-z0-9+.-]*:")

# Whether a file that is known to hold secrets is sent: asked with its real path.
PermitSecret: TypeAlias = Callable[[str], Awaitable[bool]]


class AttachmentError(Exception):
    """A file cannot be attached, or there is no message; says which and why."""


class Attachment(msgspec.Struct, frozen=True):
    """A file as models get it: the text that stands for it, and the image if it is one."""

    text: str
    image: ImageContent | None = None


async def compose(
    words: Sequence[str], piped: str, files: NamedFiles, permit: PermitSecret
) -> tuple[UserMessage, Sequence[UserMessage]]:
    """The first message and those that follow it.

    The first holds what was piped, then the attached files, then the first word; as pi does, each further
    word is a message of its own.

    Args:
        words: arguments; those that begin with `@` name files or images, or resources, which stay names here.

    Raises:
        AttachmentError: a file is missing or cannot be attached, or there is nothing to say.
    """
    named = [word for word in words if word.startswith("@")]
    texts = [word for word in words if not word.startswith("@")]
    resources = [word for word in named if is_resource(word[1:])]
    attached = [await attach(word[1:], files, permit) for word in named if word not in resources]
    parts = [piped.strip("\n"), *(one.text for one in attached), *resources, *texts[:1]]
    images = tuple(one.image for one in attached if one.image is not None)
    said = [part for part in parts if part.strip()]
    first = "\n\n".join(said)
    if len(said) > 1 and first.startswith("/"):
        first = f"\n{first}"  # a piped text before the message is no slash command
    if not first:
        raise AttachmentError('there is no message: give one, such as kaa -p "fix the failing test"')
    if piped.strip() and first.startswith("/"):
        first = f" {first}"  # what is piped is text and never a slash command
    return user_message(first, images), [user_message(text) for text in texts[1:]]


def is_resource(mention: str) -> bool:
    """Whether what follows an `@` is a resource of an MCP server, `server:uri`, and no file."""
    return _RESOURCE.match(mention) is not None


async def attach(path: str, files: NamedFiles, permit: PermitSecret) -> Attachment:
    """Read a file that the user named.

    Args:
        path: as it was typed; a narrow space or a curly apostrophe that systems put into names may be missing.
        permit: decides if it is known to hold secrets.

    Raises:
        AttachmentError: it cannot be attached; the message says why.
    """
    from kaa.builtin.encoding import display_text, is_binary  # lazy: as above
    from kaa.builtin.images import ImageError, image_type, prepare_image  # lazy: few messages name files

    try:
        spelling, head = await _find(path, files)
        mime_type = image_type(head.data)
        limit = _MAX_TEXT_BYTES if mime_type is None else _MAX_IMAGE_BYTES
        if head.size > limit:
            raise AttachmentError(f"@{path} has {head.size:,} bytes, more than the {limit:,} that can be attached")
        if head.is_secret and not await permit(head.real_path):
            raise AttachmentError(f"@{path} was not attached: it may hold secrets")
        named = await files.read_named(spelling, limit)
    except OSError as error:
        raise AttachmentError(f"@{path} {_reason(path, error, files.root)}") from error
    tag = f'<file name="{named.real_path}">'
    if mime_type is None:
        if is_binary(named.data):
            raise AttachmentError(f"@{path} is a binary file; only texts and images can be attached")
        return Attachment(f"{tag}\n{display_text(named.data)}\n</file>")
    try:
        image = await prepare_image(named.data, mime_type)
    except ImageError as error:
        raise AttachmentError(f"@{path} cannot be attached: {error}") from error
    return Attachment(f"{tag}{image.note or ''}</file>", ImageContent(image.base64, image.mime_type))


async def missing(path: str, files: NamedFiles) -> AttachmentError | None:
    """Why a file that the user named cannot be found; None if it exists, even if it cannot be read."""
    try:
        await _find(path, files)
    except FileNotFoundError as error:
        return AttachmentError(f"@{path} {_reason(path, error, files.root)}")
    except OSError:
        return None
    return None


async def _find(path: str, files: NamedFiles) -> tuple[str, NamedFile]:
    """The spelling under which a file exists, and its beginning."""
    from kaa.builtin.file_paths import spellings  # lazy: as above

    missing = FileNotFoundError()
    for spelling in spellings(path):
        try:
            return spelling, await files.read_named(spelling, _HEAD_BYTES)
        except FileNotFoundError as error:
            missing = error
    raise missing


def _reason(path: str, error: OSError, root: str) -> str:
    match error:
        case IsADirectoryError():
            return "is a directory; attach files, or ask kaa to look into it"
        case FileNotFoundError() if os.path.isabs(path) or path.startswith("~"):
            return "does not exist"
        case FileNotFoundError():
            return f"does not exist; paths are relative to {root}"
        case PermissionError() if not error.filename or error.strerror == os.strerror(error.errno or 0):
            return "cannot be read: your user has no permission"
    return f"cannot be read: {error.strerror or error}"
