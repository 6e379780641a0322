"""Record and replay: the HTTP exchanges of a run, kept in a file and played back without a network.

Everything above the transport runs for real in a replay: adapters, the loop, tools, sessions. So a cassette
tests all of it, and it is how `kaa demo` works without a key.
"""

from kaa.llm.cassette._format import CassetteDivergence, CassetteError, RecordedModel
from kaa.llm.cassette._recording import RecordingTransport
from kaa.llm.cassette._replay import ReplayTransport

__all__ = [
    "CassetteDivergence",
    "CassetteError",
    "RecordedModel",
    "RecordingTransport",
    "ReplayTransport",
]
