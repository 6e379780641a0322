from shop.customer import Customer

GUEST = Customer("guest")


class Order:
    def __init__(self, customer=GUEST):
        self.customer = customer
        self.lines = []

    def add(self, name, price):
        self.lines.append((name, price))

    def total(self):
        return sum(price for _, price in self.lines) * (1 - self.customer.discount)
