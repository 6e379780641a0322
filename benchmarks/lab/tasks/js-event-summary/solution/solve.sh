#!/bin/sh
set -e
here=$(dirname "$0")
cp "$here/summarize.js" summarize.js
