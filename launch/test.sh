#!/usr/bin/env bash
# Checks style, types and tests. Without arguments, slow tests are skipped; takes about five minutes on two cores.
#
#   launch/test.sh               the checks that CI runs
#   launch/test.sh --all         the slow tests as well
#   launch/test.sh -k replay     other arguments are passed to pytest; -n 0 uses one process instead of two
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$CHECKOUT"

[[ ${1:-} != --help ]] || { usage && exit; }
selection=(-m "not slow")
if [[ ${1:-} == --all ]]; then
    selection=(-m "")
    shift
fi
set_up

say "style"
ruff check .
ruff format --check .
python -m codespell_lib README.md docs annotate kanachan launch configs
say "types"
python -m mypy -n 2
say "tests"
python -m pytest -n 2 --dist loadfile --no-loadscope-reorder "${selection[@]}" "$@"
