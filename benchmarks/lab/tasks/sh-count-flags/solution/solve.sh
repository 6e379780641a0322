#!/bin/sh
set -e
here=$(dirname "$0")
cp "$here/count.sh" count.sh
