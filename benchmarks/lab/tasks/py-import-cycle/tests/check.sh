set -e
[ "$(python3 -B -m shop)" = "Ada: 54.00" ]
python3 -B -c "
from shop.order import Order
order = Order(); order.add('tea', 4); assert order.total() == 4
assert order.customer.name == 'guest' and Order.__module__ == 'shop.order'"
python3 -B -c "
from shop.customer import Customer
assert Customer.__module__ == 'shop.customer'
order = Customer('Bob', 50).new_order(); order.add('tea', 4); assert order.total() == 2
try: Customer('Eve', 101)
except ValueError: pass
else: raise SystemExit('no error for 101 %')"
