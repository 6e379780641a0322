"""What the brain makes of the process that decodes: verdicts are remembered, accidents are not."""

import io
import os
import signal
import sys
import threading
from pathlib import Path

import pytest
from PIL import Image

from kaa.builtin.decoding.decoder import ImageDecoder
from kaa.builtin.images import ImageError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which process decodes")


def _image() -> bytes:
    stream = io.BytesIO()
    Image.effect_noise((600, 600), 50).save(stream, "PNG")
    return stream.getvalue()


def _children() -> set[int]:
    lists = (Path(f"/proc/self/task/{thread}/children").read_text() for thread in os.listdir("/proc/self/task"))
    return {int(pid) for line in lists for pid in line.split()}


def test_a_process_that_was_killed_says_nothing_about_the_image() -> None:
    decoder, data, before = ImageDecoder(), _image(), _children()
    errors: list[Exception] = []

    def decode() -> None:
        try:
            decoder.decode(data, "image/png", threading.Event())
        except ImageError as error:
            errors.append(error)

    thread = threading.Thread(target=decode)
    thread.start()
    while not (started := _children() - before):
        assert thread.is_alive(), "it has decoded before it could be killed"
    for pid in started:
        os.kill(pid, signal.SIGKILL)
    thread.join()

    assert ["ended by signal 9" in str(error) for error in errors] == [True]
    assert decoder.decode(data, "image/png", threading.Event()).size == (600, 600)


def test_a_verdict_is_remembered() -> None:
    decoder = ImageDecoder()

    for _ in range(2):
        with pytest.raises(ImageError, match="is not a valid image/png"):
            decoder.decode(b"\x89PNG broken", "image/png", threading.Event())


def test_what_nobody_waits_for_is_not_begun() -> None:
    abandoned = threading.Event()
    abandoned.set()

    with pytest.raises(ImageError, match="nobody waits"):
        ImageDecoder().decode(_image(), "image/png", abandoned)
