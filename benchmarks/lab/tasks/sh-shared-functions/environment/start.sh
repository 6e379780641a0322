#!/bin/sh
# Starts the service.

log() {
    level=$1
    shift
    printf '[%s] %s: %s\n' "$(basename "$0" .sh)" "$level" "$*"
}

log info "starting ${1:-service}"
[ "$1" != broken ] || { log error "cannot start $1"; exit 3; }
log info started
