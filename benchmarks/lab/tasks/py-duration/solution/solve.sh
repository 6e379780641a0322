#!/bin/sh
set -e
here=$(dirname "$0")
cp "$here/timing.py" timing.py
cp "$here/remind.py" remind.py
