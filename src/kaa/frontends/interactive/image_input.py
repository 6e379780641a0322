"""Puts images into the message that is being written: from the clipboard, or dropped on the terminal."""

import asyncio
import os
from collections.abc import Mapping, Sequence

from kaa.core.messages import ImageContent
from kaa.frontends.interactive.attachments import Attachments, as_content, read_image
from kaa.frontends.interactive.engine import Engine
from kaa.frontends.interactive.ui_context import UIContext
from kaa.host.programs import host_programs

_TIMEOUT_SECONDS = 5.0

# macOS has no program of its own that writes the clipboard's image to standard output; pngpaste is what people install.
_PROGRAMS: Sequence[tuple[str, tuple[str, ...]]] = (
    ("WAYLAND_DISPLAY", ("wl-paste", "--no-newline", "--type", "image/png")),
    ("DISPLAY", ("xclip", "-selection", "clipboard", "-target", "image/png", "-out")),
    ("", ("pngpaste", "-")),
)


class NoClipboardError(Exception):
    """The clipboard cannot be read, or holds no image; the message says which, and what to do."""


async def read_clipboard_image(environ: Mapping[str, str]) -> bytes:
    """The image in the clipboard, as PNG.

    Raises:
        NoClipboardError: there is none, or no program can read it.
    """
    programs = host_programs(environ)
    suited = [argv for variable, argv in _PROGRAMS if not variable or environ.get(variable)]
    usable = [(found, *options) for name, *options in suited if (found := programs.find(name))]
    if not usable:
        raise NoClipboardError(
            next(filter(None, (programs.refusal(argv[0]) for argv in suited)), "")
            or "the clipboard cannot be read here: install wl-clipboard (Wayland), xclip (X11) or pngpaste (macOS), or"
            " drop the file on the terminal"
        )
    for argv in usable:
        if data := await _output_of(argv, programs.environment()):
            return data
    raise NoClipboardError("there is no image in the clipboard")


async def _output_of(argv: Sequence[str], environment: Mapping[str, str]) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *argv,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return b""
    return output if process.returncode == 0 else b""


class ImageInput:
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

        async def read(engine: Engine) -> ImageContent:
            return await read_image(engine.workspace, path, engine.permits_secret)

        self._ui.call(read, self._attach, instead)

    def _attach(self, image: ImageContent) -> None:
        self._ui.main_view.editor.insert(self._attachments.add(image) + " ")
        self._ui.refresh()
