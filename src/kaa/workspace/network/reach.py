"""What the protocols of the proxy ask of the gate: a connection to a destination, or the reason why there is none."""

from typing import NamedTuple, Protocol

from kaa.workspace.network.allow_list import HostVerdict, NetworkMode, NetworkRule
from kaa.workspace.network.destinations import Destination
from kaa.workspace.network.registries import word_of
from kaa.workspace.network.streams import Stream


class DestinationRefusedError(Exception):
    """The sandbox does not allow a destination. The message is for the command, its model and its user.

    Attributes:
        destination: what a command asked for.
        rule: the rule that would allow it, as the user writes it; None if none can.
        is_private: its name is permitted, but not its address.
    """

    def __init__(self, destination: Destination, verdict: HostVerdict, mode: NetworkMode) -> None:
        self.destination = destination
        self.is_private = verdict is HostVerdict.PRIVATE and not destination.is_address
        self.rule = None if verdict is HostVerdict.FORBIDDEN else str(NetworkRule.exactly(destination))
        refusal = f"network access to {destination} is not allowed"
        word = None if self.rule is None else word_of(self.rule)
        remedy = f"Ask the user to allow {word}; the option for it is --net {word}."
        match verdict:
            case HostVerdict.FORBIDDEN:
                reason = (
                    "it leads to the user's machine itself, the local link or a metadata service, which nothing in "
                    "the sandbox may reach. Servers that run inside the sandbox are reached without the proxy."
                )
            case HostVerdict.PRIVATE:
                reason = f"it is in a private network, whose hosts must be allowed by their exact names. {remedy}"
            case _ if mode == "off":
                reason = f"the sandbox has no network. {remedy}"
            case _:
                reason = f"it is not in the list of allowed hosts. {remedy}"
        super().__init__(f"{refusal}: {reason}")


class Upstream(NamedTuple):
    """A connection to a destination.

    Attributes:
        stream: it belongs to the gate, which closes it.
        through_proxy: it leads to an upstream proxy, which takes requests with absolute URLs.
        authorization: for that proxy, if it wants any.
    """

    stream: Stream
    through_proxy: bool = False
    authorization: str | None = None


class ConnectTo(Protocol):
    """Connects to a destination on behalf of one client. Called once per client."""

    async def __call__(self, destination: Destination, *, tunnel: bool) -> Upstream:
        """Connect, if the rules allow it.

        Args:
            tunnel: whether the client wants to pass bytes; otherwise it wants to send one HTTP request.

        Raises:
            RefusedError: the rules do not allow it.
            UnreachableError: it cannot be reached.
        """
