import unittest

from stats import mean, median


class StatsTest(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(mean([1, 2, 6]), 3)

    def test_median_of_an_odd_count(self):
        self.assertEqual(median([5, 1, 3]), 3)

    def test_median_of_an_even_count(self):
        self.assertEqual(median([4, 1, 2, 3]), 2.5)


if __name__ == "__main__":
    unittest.main()
