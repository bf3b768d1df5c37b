#!/bin/sh
# Make .venv anew with $PYTHON or, where that is empty, with the first Python >= 3.11 that can make one.
set -eu

works() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

chosen='' no_venv=''
for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    works "$candidate" || continue
    if "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
        chosen=$candidate
        break
    fi
    no_venv=${no_venv:-$candidate}
done

if [ -z "$chosen" ] && [ -n "$no_venv" ]; then
    echo "set-up: $no_venv has no venv module; on Debian and Ubuntu: sudo apt install python3-venv" >&2
    exit 1
elif [ -z "$chosen" ]; then
    echo "set-up: ${PYTHON:-python3} is not Python 3.11 or newer; install one, or name it: make PYTHON=/path/to/python3.13" >&2
    exit 1
fi

echo "set-up: making .venv with $("$chosen" -V)" >&2
"$chosen" -m venv --clear .venv
{ .venv/bin/python -V | cut -d. -f1,2; pwd -P; } >.venv/made-for
