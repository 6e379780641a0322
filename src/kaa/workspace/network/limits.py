"""How much of the brain one sandbox may take."""

from typing import NamedTuple


class ProxyLimits(NamedTuple):
    """What the proxy bears.

    Attributes:
        connections: clients at a time, each with up to two descriptors (the usual limit of a process is 1,024); more
            wait to be accepted. Installers use up to 50.
        held: clients at a time that wait for the answer to a question; more are refused. They must leave room for those
            that are permitted.
        head_bytes: of the head of a request or an answer.
        head_seconds: for a client to send its first byte, and then the head of its request.
    """

    connections: int = 200
    held: int = 100
    head_bytes: int = 64 * 1024
    head_seconds: float = 10.0
