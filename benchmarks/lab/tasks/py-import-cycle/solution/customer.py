def percent(value):
    if not 0 <= value <= 100:
        raise ValueError(f"{value} is no percentage")
    return value / 100


class Customer:
    def __init__(self, name, discount=0):
        self.name = name
        self.discount = percent(discount)
        self.orders = []

    def new_order(self):
        from shop.order import Order  # order.py needs this module

        order = Order(self)
        self.orders.append(order)
        return order
