"""What extension processes can ask of kaa: the methods `host/…`, by subject."""

from kaa.ext.process.services.caller import Caller
from kaa.ext.process.services.table import SERVICES, answer

__all__ = ["SERVICES", "Caller", "answer"]
