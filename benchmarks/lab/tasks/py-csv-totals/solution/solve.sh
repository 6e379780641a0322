#!/bin/sh
exec python3 - <<'END'
import csv
import json

totals = {}
with open("sales.csv", newline="", encoding="utf-8") as file:
    for row in csv.DictReader(file):
        if row["amount"].strip() and row["status"].strip().lower() != "cancelled":
            region = row["region"].strip().lower()
            totals[region] = totals.get(region, 0) + float(row["amount"].replace(",", ""))
with open("totals.json", "w", encoding="utf-8") as file:
    json.dump({region: round(total, 2) for region, total in totals.items()}, file)
END
