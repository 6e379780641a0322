"""Custom provider: a model that answers from a program on this machine, one line of JSON per event.

    LOCAL_PROGRAM=./my-model kaa -e examples/extensions/custom_provider.py --model local-program/default -p "Hello"

The program gets the conversation on stdin and prints lines such as {"text": "Hel"} and {"tokens": [12, 3]}.
"""

import asyncio
import os
import shlex
from collections.abc import AsyncGenerator

import msgspec

from kaa.ext.api import (
    ExtensionAPI,
    ProviderAccess,
    ProviderError,
    ReplyInfo,
    Request,
    StreamDone,
    StreamEvent,
    TextChunk,
    Usage,
)

_COMMAND = os.environ.get("LOCAL_PROGRAM", "my-model --json")


class Line(msgspec.Struct):
    """What the program prints."""

    text: str = ""
    tokens: tuple[int, int] | None = None


def extend(kaa: ExtensionAPI) -> None:
    @kaa.provider("local-program", {"models": [{"id": "default", "contextWindow": 32000}]})
    async def stream(request: Request, access: ProviderAccess) -> AsyncGenerator[StreamEvent, None]:
        pipe = asyncio.subprocess.PIPE
        try:
            program = await asyncio.create_subprocess_exec(*shlex.split(_COMMAND), stdin=pipe, stdout=pipe)
        except OSError as error:
            raise ProviderError(f"{_COMMAND} cannot be executed ({error.strerror}): set LOCAL_PROGRAM") from error
        assert program.stdin is not None
        assert program.stdout is not None
        try:
            program.stdin.write(msgspec.json.encode({"system": request.system, "messages": list(request.messages)}))
            program.stdin.close()
            async for printed in program.stdout:
                line = msgspec.json.decode(printed, type=Line)
                if line.text:
                    yield TextChunk("reply", line.text)
                if line.tokens is not None:
                    yield ReplyInfo(usage=Usage(input=line.tokens[0], output=line.tokens[1]))
            if await program.wait() != 0:
                raise ProviderError(f"{_COMMAND} ended with exit code {program.returncode}")
            yield StreamDone("stop")
        finally:  # also if the user stops the run
            if program.returncode is None:
                program.kill()
                await program.wait()
