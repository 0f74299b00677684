# Sourced by the other scripts. `set_up` installs the program if necessary and puts it on the PATH. This takes 2 to 3
# minutes the first time and after a change of the dependencies, otherwise no time. PIP_USER and the like do not matter.
#
#   PYTHON         the interpreter of the environment (default: the first on the PATH with version 3.11 to 3.14)
#   KANACHAN_VENV  folder of the environment (default: .venv in the checkout); an existing environment is used
#   KANACHAN_WHEELS  folder of wheels, for machines without internet: the environment has PYTHON's packages, including
#                  torch, and these wheels, including this program's wheel; nothing is downloaded

CHECKOUT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV=${KANACHAN_VENV:-$CHECKOUT/.venv}
[[ $VENV == /* ]] || VENV=$PWD/$VENV

# usage: prints the comment at the top of the running script.
usage() { sed -n '2,/^[^#]/{s/^# //p;s/^#$//p;}' "$0"; }

say() { printf '\n== %s\n' "$*" >&2; }

fail() {
    printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# is_supported PYTHON: the tested versions of torch and of the rules engine have wheels only for these versions.
is_supported() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null; }

find_python() {
    local candidate
    if [[ -n ${PYTHON:-} ]]; then
        command -v "$PYTHON" >/dev/null || fail "PYTHON=$PYTHON: there is no such command"
        is_supported "$PYTHON" || fail "PYTHON=$PYTHON is $("$PYTHON" --version 2>&1); Python 3.11 to 3.14 is needed"
        echo "$PYTHON"
        return
    fi
    for candidate in python3 python python3.14 python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null && is_supported "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    fail "Python 3.11 to 3.14 is needed, and none is on the PATH; name one with PYTHON=/path/to/python3.14"
}

# fingerprint: prints everything on which the environment depends; if it changes, the program is installed again.
fingerprint() {
    echo "$CHECKOUT"
    cat "$CHECKOUT"/{pyproject.toml,setup.py,constraints.txt}
}

make_environment() {
    local python
    python=$(find_python)
    say "making an environment in $VENV with $("$python" --version)"
    "$python" -m venv "$VENV" || fail "$python cannot make an environment; on Debian and Ubuntu, install python3-venv"
}

# use_environment: puts the program on the PATH without installing it, for scripts that run many tasks at once.
use_environment() {
    export PATH="$VENV/bin:$PATH"
    command -v kanachan-annotate >/dev/null ||
        fail "the program is not installed in $VENV: run launch/test.sh or launch/quickstart.sh in $CHECKOUT first"
}

# set_up_offline: puts the program on the PATH, in addition to PYTHON's packages.
set_up_offline() {
    local python site=$VENV/offline/site bin=$VENV/offline/bin
    local wheels=("$KANACHAN_WHEELS"/*.whl) own=("$KANACHAN_WHEELS"/kanachan-*.whl)
    [[ -f ${own[0]} ]] ||
        fail "$KANACHAN_WHEELS has no wheel of this program: pip wheel --no-deps --wheel-dir $KANACHAN_WHEELS $CHECKOUT"
    python=$(find_python)
    python=$("$python" -c 'import sys; print(sys.executable)')
    "$python" -c 'import torch' 2>/dev/null || fail "$python has no torch; name another one with PYTHON="
    say "installing ${#wheels[@]} wheels in $site for $python"
    PIP_USER=0 PIP_PREFIX= "$python" -m pip install -qq --no-index --no-deps --upgrade -t "$site" "${wheels[@]}" ||
        fail "the installation failed; see the output of pip above"
    mkdir -p "$bin"
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$python" >"$bin/python"
    chmod +x "$bin/python"
    export PATH="$bin:$site/bin:$PATH" PYTHONPATH="$CHECKOUT:$site"  # the checkout's sources come first
}

set_up() {
    local stamp=$VENV/installed-from
    if [[ -n ${KANACHAN_WHEELS:-} ]]; then
        set_up_offline
        return
    fi
    [[ ! -e $VENV/bin/python && ! -L $VENV/bin/python ]] || is_supported "$VENV/bin/python" ||
        fail "$VENV/bin/python does not work, or is not Python 3.11 to 3.14: remove $VENV"
    export PATH="$VENV/bin:$PATH"
    if [[ -x $VENV/bin/kanachan-train ]] && cmp --quiet "$stamp" <(fingerprint) 2>/dev/null; then
        return
    fi
    "$VENV/bin/python" -m pip --version >/dev/null 2>&1 || make_environment
    say "installing the program and the tested versions of its dependencies (2 to 3 minutes, 1.9 GB)"
    rm -f "$stamp"
    PYTHONPATH= PIP_USER=0 PIP_TARGET= PIP_PREFIX= "$VENV/bin/python" -m pip install -qq \
        -c "$CHECKOUT/constraints.txt" -e "$CHECKOUT[train,encoder,test,onnx,pictures,ray,connect,hub]" ||
        fail "the installation failed; see the output of pip above"
    fingerprint >"$stamp"
}
