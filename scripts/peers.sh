#!/usr/bin/env bash
# Installs the agents that `make bench` compares kaa with, in these versions, into a folder of their own: nothing is
# installed for the user. What cannot be installed here is named in a line, and left out.
#
#     scripts/peers.sh UV [FOLDER]
set -uo pipefail
uv=$1 folder=${2:-.tools/peers}

node=24.22.3 # pi 1.6 needs 22.19 or newer; npm installs pi 0.74 on an older one
pi=1.6.0
codex=0.171.0
tau=0.4.8 # needs Python 3.12 or newer

mkdir -p "$folder/bin"
folder=$(cd "$folder" && pwd)
log=$folder/install.log
: >"$log"

missing() {
  rm -f "$folder/bin/$1"
  echo "peers: $1 is missing: $2"
}

# is_here NAME VERSION: whether it is in bin and says that it has this version.
is_here() {
  local said
  [ -e "$folder/bin/$1" ] || return 1
  said=$(PATH=$folder/bin:$PATH "$folder/bin/$1" --version 2>>"$log" </dev/null) || return 1
  case " $said" in
    *[!0-9.]"$2") echo "peers: $1 $2" ;;
    *) return 1 ;;
  esac
}

# link NAME VERSION PROGRAM: puts the program into bin.
link() {
  ln -sfn "$3" "$folder/bin/$1"
  is_here "$1" "$2" || missing "$1" "$3 does not start or is not version $2, see $log"
}

# install NAME PACKAGE...: with npm, into a folder of that name.
install() {
  local name=$1
  shift
  mkdir -p "$folder/$name"
  echo '{"private": true}' >"$folder/$name/package.json"
  PATH=$folder/bin:$PATH npm install --prefix "$folder/$name" --no-audit --no-fund --no-save "$@" >>"$log" 2>&1
}

case $(uname -sm) in
  "Linux x86_64") cpu=x64 triple=x86_64-unknown-linux-musl ;;
  "Linux aarch64") cpu=arm64 triple=aarch64-unknown-linux-musl ;;
  *) cpu= ;;
esac

install_pi() {
  if ! install node "node-linux-$cpu@$node"; then
    missing pi "npm could not install Node.js $node for it, see $log"
    return
  fi
  ln -sfn "../node/node_modules/node-linux-$cpu/bin/node" "$folder/bin/node"
  if install pi "@earendil-works/pi-coding-agent@$pi"; then
    link pi "$pi" ../pi/node_modules/.bin/pi
  else
    missing pi "npm could not install it, see $log"
  fi
}

install_codex() {
  if install codex "@openai/codex@$codex"; then
    # The program itself: the script in front of it would add the start of Node.js to each figure.
    link codex "$codex" "../codex/node_modules/@openai/codex-linux-$cpu/vendor/$triple/bin/codex"
  else
    missing codex "npm could not install it, see $log"
  fi
}

install_tau() {
  local python
  if ! python=$(new_python); then
    missing tau "it needs Python 3.12 or newer"
  elif "$uv" venv --quiet --clear --python "$python" "$folder/tau" >>"$log" 2>&1 &&
    "$uv" pip install --quiet --python "$folder/tau/bin/python" "tau-ai==$tau" >>"$log" 2>&1; then
    link tau "$tau" ../tau/bin/tau
  else
    missing tau "it could not be installed, see $log"
  fi
}

new_python() {
  local python
  for python in python3 python3.14 python3.13 python3.12 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python; do
    if command -v "$python" >/dev/null && "$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>>"$log"; then
      echo "$python"
      return
    fi
  done
  return 1
}

for name in pi codex; do
  if is_here "$name" "${!name}"; then
    continue
  elif ! command -v npm >/dev/null; then
    missing "$name" "there is no npm on this machine"
  elif [ -z "$cpu" ]; then
    missing "$name" "npm has none for $(uname -sm)"
  else
    "install_$name"
  fi
done
is_here tau "$tau" || install_tau
