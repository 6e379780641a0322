"""Digests of contents, of 32 bytes."""

from functools import partial

# Not from `hashlib`: that loads OpenSSL, which takes each slot 3 ms and 3 MB.
try:
    from _blake2 import blake2b
except ImportError:  # a Python that was built without it
    from hashlib import blake2b

__all__ = ["blake2b", "new_digest"]

new_digest = partial(blake2b, digest_size=32)
