from cache import Cache


class Clock:
    now = 0

    def __call__(self):
        return self.now


clock = Clock()
cache = Cache(2, 10, clock)
cache.put("a", 1)
clock.now = 9
assert cache.get("a") == 1
clock.now = 10
assert cache.get("a", "gone") == "gone"

cache = Cache(2, 100, clock)
cache.put("a", 1)
cache.put("b", 2)
cache.put("a", 3)  # a write of a known entry drops no other
assert len(cache) == 2
assert cache.get("b") == 2
cache.put("c", 4)
assert cache.get("a") is None
assert cache.get("b") == 2
assert cache.get("c") == 4

clock.now = 0
cache = Cache(3, 10, clock)
cache.put("a", 1)
clock.now = 6
assert cache.get("a") == 1
clock.now = 11
assert cache.get("a") is None
