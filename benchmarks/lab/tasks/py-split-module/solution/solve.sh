#!/bin/sh
set -e
mkdir inventory
{
    echo '"""An item."""'
    echo
    sed -n '/^class Item/,/^class Stock/p' inventory.py | sed '/^class Stock/d'
} | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >inventory/items.py
{
    echo '"""How many there are."""'
    echo
    sed -n '/^class Stock/,/^def report/p' inventory.py | sed '/^def report/d'
} | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >inventory/stock.py
{
    echo '"""What there is, in words."""'
    echo
    sed -n '/^def report/,$p' inventory.py
} >inventory/report.py
cat >inventory/__init__.py <<'END'
"""What is in the warehouse."""

from inventory.items import Item
from inventory.report import report
from inventory.stock import Stock

__all__ = ["Item", "Stock", "report"]
END
rm inventory.py
