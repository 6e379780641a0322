import unittest

from cache import Cache


class Clock:
    now = 0

    def __call__(self):
        return self.now


class CacheTest(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        self.cache = Cache(2, 10, self.clock)

    def test_an_entry_is_returned(self):
        self.cache.put("a", 1)
        self.assertEqual(self.cache.get("a"), 1)

    def test_an_entry_expires(self):
        self.cache.put("a", 1)
        self.clock.now = 10
        self.assertIsNone(self.cache.get("a"))

    def test_reading_does_not_prolong(self):
        self.cache.put("a", 1)
        self.clock.now = 6
        self.cache.get("a")
        self.clock.now = 12
        self.assertIsNone(self.cache.get("a"))

    def test_the_entry_used_longest_ago_is_dropped(self):
        self.cache.put("a", 1)
        self.cache.put("b", 2)
        self.cache.get("a")
        self.cache.put("c", 3)
        self.assertEqual(self.cache.get("a"), 1)
        self.assertIsNone(self.cache.get("b"))


if __name__ == "__main__":
    unittest.main()
