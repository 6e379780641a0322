"""Digests by which a changed tool, or a changed entry of a configuration, is recognized."""

import hashlib

import msgspec

from kaa.core.messages import Json


def digest(value: Json) -> str:
    """SHA-256, hexadecimal, of any JSON value, whatever the order of its keys."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()
