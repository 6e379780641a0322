#!/bin/sh
set -e
here=$(dirname "$0")
cp "$here/merge.js" merge.js
