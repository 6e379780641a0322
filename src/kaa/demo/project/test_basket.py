import unittest

from basket import total


class BasketTest(unittest.TestCase):
    def test_shipping_is_added(self):
        self.assertEqual(total(40, 5), 45)


if __name__ == "__main__":
    unittest.main()
