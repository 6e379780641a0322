#!/bin/sh
set -e
here=$(dirname "$0")
cp "$here/Makefile" Makefile
