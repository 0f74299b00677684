#!/usr/bin/env bash
# How quick the program is on this machine, each figure beside that of a plain way to do the same, measured in turns in
# the same run. Three minutes on two cores. The last line is JSON.
#
#   launch/benchmark.sh                     everything
#   launch/benchmark.sh annotate data train some of it
#   launch/benchmark.sh --help              settings
#
# Real records are used if KANACHAN_RECORDS names a folder of them, or shared/records lies beside the checkout; else
# games are simulated.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
set_up
exec python "$CHECKOUT/launch/benchmark.py" "$@"
