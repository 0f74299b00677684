#!/usr/bin/env bash
# Measures the effect of each choice of the network and of its training: trains every variant of a stage in turn with
# several seeds, evaluates all of them on the same held-out decisions, and prints a Markdown table. After an
# interruption the same command resumes.
#
#   launch/ablation.sh SHARDS [-o DIR] [--stages STAGE …] [--variants NAME …] [--init IMITATION_RUN] [--seeds N]
#                      [--steps N] [--split SPLIT] [-- SETTINGS of kanachan-train, for all runs]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
[[ " $* " != *" --help "* ]] || { usage && exit; }
set_up
exec python "$CHECKOUT/launch/ablation" "$@"
