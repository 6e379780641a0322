import unittest

from stats import mean, median


class StatsTest(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(mean([1, 2, 6]), 3)

    def test_median_of_an_odd_number(self):
        self.assertEqual(median([5, 1, 3]), 3)

    def test_median_of_an_even_number(self):
        self.assertEqual(median([4, 1, 3, 2]), 2.5)

    def test_the_list_stays_as_it_is(self):
        values = [3, 1, 2]
        median(values)
        self.assertEqual(values, [3, 1, 2])


if __name__ == "__main__":
    unittest.main()
