from inventory import Item, Stock, report

assert Item.__module__ == "inventory.items"
assert Stock.__module__ == "inventory.stock"
assert report.__module__ == "inventory.report"
stock, tea = Stock(), Item("tea", 3)
stock.add(tea, 2)
stock.add(Item("milk", 1))
assert report(stock) == "milk: 1\ntea: 2\ntotal: 7"
stock.remove(tea, 2)
assert stock.count(tea) == 0
assert report(stock) == "milk: 1\ntotal: 1"
for action, error in ((lambda: stock.remove(tea), KeyError), (lambda: Item("x", -1), ValueError)):
    try:
        action()
    except error:
        continue
    raise AssertionError(error)
