#!/usr/bin/env bash
# What each choice of the network and of its training is worth: trains every variant of a stage in turn with several
# seeds, measures all of them on the same held-out decisions, and prints a Markdown table. Interrupted, the same command
# goes on where it was.
#
#   launch/ablation.sh SHARDS [--out DIR] [--stages STAGE …] [--variants NAME …] [--init IMITATION_RUN] [--seeds N]
#                      [--steps N] [--split SPLIT] [-- SETTINGS of kanachan-train, for all runs]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
[[ " $* " != *" --help "* ]] || { usage && exit; }
set_up
exec python "$CHECKOUT/launch/ablation" "$@"
