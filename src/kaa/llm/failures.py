"""Errors for replies that a model or a server broke off, with messages that say what to do."""

from typing import Final

from kaa.core.errors import BadRequestError, MalformedStreamError
from kaa.llm.wire import Peer

_MAX_EXCERPT_BYTES: Final = 160


def refused_answer(reason: str, peer: Peer) -> BadRequestError:
    """The error for an answer that was withheld by the model or a content filter."""
    return BadRequestError(
        f"{peer.model} at {peer.host} stopped this answer ({cleaned(reason, peer)}): rephrase the request, "
        "take another approach, or choose another model."
    )


def broken_off(reason: str, peer: Peer) -> MalformedStreamError:
    """The error for an answer with which the model went wrong; another try mostly succeeds."""
    return MalformedStreamError(
        f"{peer.model} at {peer.host} broke off its answer ({cleaned(reason, peer)}). Try again, or choose another "
        "model."
    )


def malformed(what: str, data: bytes, peer: Peer) -> MalformedStreamError:
    """The error for bytes that are no part of a reply, quoting their beginning."""
    excerpt = data[:_MAX_EXCERPT_BYTES].decode("utf-8", "replace")
    dots = "…" if len(data) > _MAX_EXCERPT_BYTES else ""
    return MalformedStreamError(
        f"{peer.host} sent {what}: {cleaned(excerpt, peer)}{dots} — try again; if it stays so, check the base URL and "
        f"the wire format (`api`) of provider '{peer.provider}'."
    )


def ended_early(peer: Peer) -> MalformedStreamError:
    """The error for a stream that ended before the reply was complete."""
    return MalformedStreamError(f"{peer.host} ended its answer before it was complete. Try again.")


def cleaned(text: str, peer: Peer) -> str:
    """What a server said, without the keys that servers repeat in their complaints."""
    from kaa.llm.redaction import Redactor  # lazy: most runs meet no error

    return Redactor(peer.secrets).redact(text)
