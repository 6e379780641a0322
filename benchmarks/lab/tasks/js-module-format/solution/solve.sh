#!/bin/sh
set -e
here=$(dirname "$0")
cp "$here/index.js" index.js
cp "$here/greetings.js" greetings.js
