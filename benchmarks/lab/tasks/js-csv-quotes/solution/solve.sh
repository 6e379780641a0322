#!/bin/sh
set -e
here=$(dirname "$0")
cp "$here/csv.js" csv.js
