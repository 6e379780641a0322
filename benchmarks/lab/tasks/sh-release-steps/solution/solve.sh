#!/bin/sh
set -e
here=$(dirname "$0")
cp "$here/release.sh" release.sh
