"""Sessions as files among others: found, copied, taken in, thrown away."""
