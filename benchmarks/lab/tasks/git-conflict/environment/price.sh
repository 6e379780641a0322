#!/bin/sh
# price.sh PRICE COUNT
awk -v price="$1" -v count="$2" 'BEGIN { print price * count }'
