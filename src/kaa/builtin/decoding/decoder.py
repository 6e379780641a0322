"""The brain's side: starts the process for one image after another, and trusts nothing that it says."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from kaa.builtin.images import ImageError, PreparedImage, image_type

_SCRIPT = os.path.join(os.path.dirname(__file__), "__main__.py")
_SECONDS = 60.0  # it limits its own processor time; this is for a machine that is busy
_MAX_BYTES = int(4.5 * 1024 * 1024) // 4 * 3  # 4.5 MiB once base64 encoded
_MAX_HEADER_BYTES = 1000
_KEPT_BYTES = 32 * 1024 * 1024
_KEPT_IMAGES = 64
_SMALLEST_IMAGE = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)

_Pixels = Annotated[int, Meta(ge=1, le=1_000_000)]


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of what the process says."""

    error: Annotated[str, Meta(max_length=500)] = ""
    mime_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"] = "image/png"
    size: tuple[_Pixels, _Pixels] = (1, 1)
    original_size: tuple[_Pixels, _Pixels] = (1, 1)
    unchanged: bool = False
    unconfined: Annotated[str, Meta(max_length=500)] = ""


class ImageDecoder:
    """Decodes images, one at a time, in whatever thread wants it. What was asked for lately is remembered."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._known: dict[bytes, PreparedImage | str] = {}  # the oldest first; a text says why there is none

    def decode(self, data: bytes, mime_type: str, abandoned: threading.Event) -> PreparedImage:
        """The image within the limits of models.

        Args:
            abandoned: set when nobody wants it any more; what has not begun by then does not begin.

        Raises:
            ImageError: it is broken, too large to be decoded safely, or abandoned.
        """
        key = hashlib.sha256(mime_type.encode() + b"\0" + data).digest()
        with self._turn:
            if abandoned.is_set():
                raise ImageError("nobody waits for it any more")
            known = self._known.pop(key, None)
            if known is None:
                known = _decoded(data, mime_type)  # raises what may be different the next time
            self._known[key] = known
            self._forget()
        if isinstance(known, str):
            raise ImageError(known)
        return known

    def _forget(self) -> None:
        while len(self._known) > 1 and (len(self._known) > _KEPT_IMAGES or self._size() > _KEPT_BYTES):
            del self._known[next(iter(self._known))]

    def _size(self) -> int:
        return sum(len(known.data) for known in self._known.values() if isinstance(known, PreparedImage))


DECODER = ImageDecoder()  # one for the process: the limit is one image at a time, whoever asks


def weakness() -> str:
    """Why the process that decodes has more rights than it should have; empty if the kernel confines it."""
    try:
        answered = _answered(_SMALLEST_IMAGE, "image/gif")
    except ImageError as error:
        return str(error)
    return answered if isinstance(answered, str) else answered[0].unconfined


def _decoded(data: bytes, mime_type: str) -> PreparedImage | str:
    """The image, or what is wrong with it.

    Raises:
        ImageError: the process did not come to a verdict.
    """
    answered = _answered(data, mime_type)
    if isinstance(answered, str):
        return answered
    answer, pixels = answered
    if answer.error:
        return answer.error
    result = data if answer.unchanged else pixels
    if len(result) > _MAX_BYTES or image_type(result[:64]) != answer.mime_type:
        return "the process that decodes images does not answer sensibly"
    return PreparedImage(result, answer.mime_type, answer.size, answer.original_size)


def _answered(data: bytes, mime_type: str) -> tuple[_Answer, bytes] | str:
    """What the process says of an image, or why there is no answer.

    Raises:
        ImageError: the process did not come to a verdict.
    """
    try:
        # -I and -S, an empty environment: nothing but kaa's own code is loaded.
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-X", "utf8", _SCRIPT, mime_type, *filter(os.path.isabs, sys.path)],
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ImageError(f"decoding it takes longer than {_SECONDS:.0f} s") from None
    except OSError as error:
        raise ImageError(f"the process that decodes images cannot be started: {error.strerror or error}") from error
    if done.returncode == -signal.SIGXCPU:
        return "it cannot be decoded within the limit of time"
    if done.returncode < 0:
        raise ImageError(f"the process that decodes images was ended by signal {-done.returncode}; try again")
    if done.returncode:
        return "it cannot be decoded within the limit of memory"
    line, _, pixels = done.stdout.partition(b"\n")
    try:
        answer = msgspec.json.decode(line[:_MAX_HEADER_BYTES], type=_Answer)
    except msgspec.DecodeError:
        return "the process that decodes images does not answer sensibly"
    return answer, pixels
