from stats import mean, median

values = [9, 1, 5, 3]
assert median(values) == 4
assert values == [9, 1, 5, 3]
assert median((2, 1)) == 1.5
assert median([7]) == 7
assert median([3, 1, 2]) == 2
assert mean([1, 2]) == 1.5
try:
    median([])
except ValueError:
    pass
else:
    raise AssertionError("no error for an empty list")
