"""What was asked of a model beside the conversation, such as a summary of it."""

import msgspec

from kaa.core.messages import AssistantMessage
from kaa.core.provider import Request


class SideRequest(msgspec.Struct, frozen=True):
    """One such request and how it ended.

    Attributes:
        request: what was asked.
        began_ns: when, in nanoseconds of Unix time.
        reply: None if it failed or was stopped.
        error: why there is no reply, in words.
        error_type: the same for programs: `ProviderError.kind`, or `aborted`.
    """

    request: Request
    began_ns: int
    reply: AssistantMessage | None = None
    error: str | None = None
    error_type: str | None = None
