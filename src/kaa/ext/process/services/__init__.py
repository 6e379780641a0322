"""What extension processes can ask of kaa: the methods `host/…`, by subject."""

from kaa.ext.process.services.caller import Caller, Service
from kaa.ext.process.services.table import SERVICES

__all__ = ["SERVICES", "Caller", "Service"]
