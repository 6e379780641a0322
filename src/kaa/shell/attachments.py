"""Turns what is given on a command line (words, `@files`, piped text) into messages."""

from collections.abc import Sequence

from kaa.builtin.encoding import display_text, is_binary
from kaa.builtin.file_paths import locate
from kaa.builtin.images import ImageError, image_type, prepare_image
from kaa.core.messages import ImageContent, UserMessage, user_message
from kaa.core.tool import ToolError
from kaa.workspace.protocol import Workspace

# Larger than any source file a person attaches, small enough for every model's window to say no by itself.
_MAX_TEXT_BYTES = 1024 * 1024
_MAX_IMAGE_BYTES = 64 * 1024 * 1024


class AttachmentError(Exception):
    """The messages cannot be put together; says which file and why."""


async def compose(words: Sequence[str], piped: str, workspace: Workspace) -> tuple[UserMessage, Sequence[UserMessage]]:
    """The first message and those that follow it.

    The first holds what was piped, then the attached files, then the first word; as pi does, each further
    word is a message of its own.

    Args:
        words: arguments; those that begin with `@` name files or images.
        piped: the content of standard input.
        workspace: reads the files.

    Raises:
        AttachmentError: a file is missing or cannot be attached, or there is nothing to say.
    """
    paths = [word[1:] for word in words if word.startswith("@")]
    texts = [word for word in words if not word.startswith("@")]
    attached = [await _attach(path, workspace) for path in paths]
    parts = [piped.strip("\n"), *(text for text, _ in attached), *texts[:1]]
    images = tuple(image for _, image in attached if image is not None)
    said = [part for part in parts if part.strip()]
    first = "\n\n".join(said)
    if len(said) > 1 and first.startswith("/"):
        first = f"\n{first}"  # a piped text before the message is no slash command
    if not first:
        raise AttachmentError('there is no message: give one, such as kaa -p "fix the failing test"')
    if piped.strip() and first.startswith("/"):
        first = f" {first}"  # what is piped is text and never a slash command
    return user_message(first, images), [user_message(text) for text in texts[1:]]


async def _attach(path: str, workspace: Workspace) -> tuple[str, ImageContent | None]:
    """The text that stands for a file, and the image if it is one."""
    try:
        located = await locate(workspace, path)
        if located is None:
            raise AttachmentError(f"@{path} does not exist; paths are relative to {workspace.root}")
        if located.info.kind == "directory":
            raise AttachmentError(f"@{path} is a directory; attach files, or ask kaa to look into it")
        name, size = located.info.real_path, located.info.size
        head = (await workspace.read(located.path, 0, 64)).data
        mime_type = image_type(head)
        limit = _MAX_TEXT_BYTES if mime_type is None else _MAX_IMAGE_BYTES
        if size > limit:
            raise AttachmentError(f"@{path} has {size:,} bytes, more than the {limit:,} that can be attached")
        data = (await workspace.read(located.path)).data
    except ToolError as error:
        raise AttachmentError(f"@{path}: {error}") from error
    except OSError as error:
        raise AttachmentError(f"@{path}: {error.strerror or error}") from error
    if mime_type is None:
        if is_binary(data):
            raise AttachmentError(f"@{path} is a binary file; only texts and images can be attached")
        return f'<file name="{name}">\n{display_text(data)}\n</file>', None
    try:
        image = await prepare_image(data, mime_type)
    except ImageError as error:
        raise AttachmentError(f"@{path} cannot be attached: {error}") from error
    return f'<file name="{name}">{image.note or ""}</file>', ImageContent(image.base64, image.mime_type)
