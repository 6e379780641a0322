#!/bin/sh
set -e
here=$(dirname "$0")
cp "$here/store.js" store.js
cp "$here/app.js" app.js
