"""Reads what is piped into kaa, in a way that a signal can end."""

import asyncio
import os
import sys
from typing import TextIO

# How long piped input may stay silent before the user is told that we wait for it.
_SILENT_WAIT_SECONDS = 2.0

_PIECE_BYTES = 64 * 1024


async def piped_input(stdin: TextIO) -> str:
    """What comes in, to its end; nothing when a person sits at the keyboard.

    Raises:
        OSError: it cannot be read.
    """
    if stdin.isatty():
        return ""
    content = await _read_to_end(stdin.fileno())
    return content.decode("utf-8", errors="replace")


async def _read_to_end(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    received = bytearray()
    ended = loop.create_future()

    def take() -> None:
        hint.cancel()
        try:
            piece = os.read(descriptor, _PIECE_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            loop.remove_reader(descriptor)
            ended.set_exception(error)
            return
        received.extend(piece)
        if not piece:
            loop.remove_reader(descriptor)
            ended.set_result(None)

    hint = loop.call_later(_SILENT_WAIT_SECONDS, _say_what_we_wait_for)
    try:
        loop.add_reader(descriptor, take)
        await ended
    except PermissionError:  # files and /dev/null cannot be waited for: they are always ready
        return _read_file(descriptor)
    finally:
        hint.cancel()
        loop.remove_reader(descriptor)
    return bytes(received)


def _read_file(descriptor: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        return file.read()


def _say_what_we_wait_for() -> None:
    sys.stderr.write("kaa: waiting for standard input to end (</dev/null if there is none to come)\n")
