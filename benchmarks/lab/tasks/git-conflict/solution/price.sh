#!/bin/sh
# price.sh PRICE COUNT
awk -v price="$1" -v count="$2" 'BEGIN {
    total = price * count
    if (count >= 10) total *= 0.9
    printf "%.2f\n", total
}'
