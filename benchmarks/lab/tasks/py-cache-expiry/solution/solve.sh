#!/bin/sh
set -e
here=$(dirname "$0")
cp "$here/cache.py" cache.py
