"""What is in the warehouse."""


class Item:
    def __init__(self, name, price):
        if price < 0:
            raise ValueError("negative price")
        self.name = name
        self.price = price


class Stock:
    def __init__(self):
        self._counts = {}

    def add(self, item, count=1):
        self._counts[item] = self._counts.get(item, 0) + count

    def remove(self, item, count=1):
        if self._counts.get(item, 0) < count:
            raise KeyError(item.name)
        self._counts[item] -= count

    def count(self, item):
        return self._counts.get(item, 0)

    def items(self):
        return [item for item, count in self._counts.items() if count]

    @property
    def value(self):
        return sum(item.price * count for item, count in self._counts.items())


def report(stock):
    lines = [f"{item.name}: {stock.count(item)}" for item in sorted(stock.items(), key=lambda item: item.name)]
    return "\n".join([*lines, f"total: {stock.value}"])
