import unittest

from inventory import Item, Stock, report


class InventoryTest(unittest.TestCase):
    def test_report(self):
        stock = Stock()
        stock.add(Item("tea", 3), 2)
        stock.add(Item("milk", 1))
        self.assertEqual(report(stock), "milk: 1\ntea: 2\ntotal: 7")

    def test_remove(self):
        stock, tea = Stock(), Item("tea", 3)
        stock.add(tea)
        stock.remove(tea)
        self.assertEqual(stock.items(), [])
        with self.assertRaises(KeyError):
            stock.remove(tea)


if __name__ == "__main__":
    unittest.main()
