"""What a kaa and the clients of its conversation say to each other: one JSON object on each line.

The server speaks first (`Hello`). Each request of a client gets `Done` or `Refused` with its number.
"""

import os
from hashlib import blake2b
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from kaa.core.events import Event
from kaa.ext.questions import Answer, AnyQuestion
from kaa.host.private_sockets import PrivateSockets
from kaa.shell.home import Home
from kaa.shell.status import Status

PROTOCOL: Final = 1
"""Grows when an older client would misunderstand a newer server, or the other way round."""

MOST_LINE_BYTES: Final = 8 * 1024 * 1024
"""Of a request. A longer line ends the connection."""


def sockets_of(home: Home) -> PrivateSockets:
    """The sockets at which the user's kaa listen."""
    return PrivateSockets(home.sockets)


def socket_name(session: str | Path) -> str:
    """The name of the socket for the session in this file. Ids can be equal in two projects, and paths be too long."""
    return blake2b(os.fsencode(os.path.realpath(session)), digest_size=12).hexdigest()


class _Request(msgspec.Struct, tag_field="type", rename="camel", frozen=True):
    """Base of what a client wants. `number`: comes back in the response."""

    number: int


class Follow(_Request, tag="follow", frozen=True):
    """Tell from now on what happens, and ask what is asked. Answered with `Past`."""


class Say(_Request, tag="say", frozen=True):
    """Give the model a message of the person, or run a slash command.

    Attributes:
        follow_up: while the model works, give it the message when it would stop.
    """

    text: str
    follow_up: bool = False


class Stop(_Request, tag="stop", frozen=True):
    """Stop what is under way, and drop the messages that wait."""


class TakeBack(_Request, tag="take_back", frozen=True):
    """Take back the message that was queued last. The response has its text."""


class End(_Request, tag="end", frozen=True):
    """Stop all that is under way, agents too, and end the process. Refused by one with a terminal."""


class TellAgent(_Request, tag="tell_agent", frozen=True):
    """Tell an agent at work something."""

    agent: str
    text: str


class StopAgent(_Request, tag="stop_agent", frozen=True):
    """Stop an agent at work."""

    agent: str


class AnswerQuestion(_Request, tag="answer", frozen=True):
    """Answer a question (`Asked`)."""

    question: int
    answer: Answer


AnyRequest: TypeAlias = Follow | Say | Stop | TakeBack | End | TellAgent | StopAgent | AnswerQuestion


class _Told(msgspec.Struct, tag_field="type", rename="camel", frozen=True):
    """Base of what the server says."""


class Hello(_Told, tag="hello", frozen=True):
    """The first line.

    Attributes:
        has_terminal: somebody may look at the conversation in its own terminal.
        asks: the titles of the questions that wait for an answer.
        is_working: whether the agent works; None if the kaa is older and does not say.
    """

    protocol: int
    version: str = ""
    session_id: str = ""
    has_terminal: bool = True
    asks: tuple[str, ...] = ()
    is_working: bool | None = None


class Done(_Told, tag="done", frozen=True):
    """A request was carried out. `text`: what there is to say about it."""

    number: int
    text: str = ""


class Refused(_Told, tag="refused", frozen=True):
    """A request cannot be carried out; `error` says why. `number`: None if it is about the connection."""

    error: str
    number: int | None = None


class Past(_Told, tag="past", frozen=True):
    """What happened before, for a client that follows.

    Attributes:
        size: in bytes, up to which the file belongs to the past.
        events: what happened after that, in order.
    """

    number: int
    path: str
    size: int
    events: tuple[Event, ...]
    running: bool


class Happened(_Told, tag="happened", frozen=True):
    """Events of the conversation."""

    events: tuple[Event, ...]


class Stands(_Told, tag="stands", frozen=True):
    """The conversation stands like this now."""

    status: Status


class Noticed(_Told, tag="noticed", frozen=True):
    """Something worth knowing."""

    text: str


class Asked(_Told, tag="asked", frozen=True):
    """A question to the person, to be answered by whoever is first."""

    id: int
    question: AnyQuestion


class Withdrawn(_Told, tag="withdrawn", frozen=True):
    """A question needs no answer any more."""

    id: int


AnyTold: TypeAlias = Hello | Done | Refused | Past | Happened | Stands | Noticed | Asked | Withdrawn
