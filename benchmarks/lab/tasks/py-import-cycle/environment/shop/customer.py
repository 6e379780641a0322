from shop.order import Order, percent


class Customer:
    def __init__(self, name, discount=0):
        self.name = name
        self.discount = percent(discount)
        self.orders = []

    def new_order(self):
        order = Order(self)
        self.orders.append(order)
        return order
