#!/bin/sh
set -e
here=$(dirname "$0")
cp "$here/stats.py" stats.py
