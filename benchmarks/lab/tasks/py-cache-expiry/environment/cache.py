"""A cache with a limit of entries and of their age."""

import time


class Cache:
    def __init__(self, size, ttl, clock=time.monotonic):
        self._size = size
        self._ttl = ttl
        self._clock = clock
        self._entries = {}

    def get(self, key, default=None):
        if key not in self._entries:
            return default
        value, written = self._entries[key]
        if self._clock() - written > self._ttl:
            del self._entries[key]
            return default
        self._entries[key] = (value, self._clock())
        return value

    def put(self, key, value):
        if len(self._entries) >= self._size:
            oldest = next(iter(self._entries))
            del self._entries[oldest]
        self._entries[key] = (value, self._clock())

    def __len__(self):
        return len(self._entries)
