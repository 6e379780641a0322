import json

with open("totals.json", encoding="utf-8") as file:
    totals = json.load(file)
expected = {"north": 2120.5, "south": 1299.75, "west": 300, "east": 10.15}
totals.pop("centre", None) == 0  # has no sale that counts: left out or 0
assert totals == expected, totals
