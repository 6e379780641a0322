from shop.customer import Customer
from shop.order import Order

customer = Customer("Ada", discount=10)
order = Order(customer)
order.add("keyboard", 50)
order.add("cable", 10)
print(f"{customer.name}: {order.total():.2f}")
