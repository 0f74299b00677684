#!/usr/bin/env bash
# Measures the speed of the program on this machine; all measurements are taken in turns. The last line is JSON.
#
#   launch/benchmark.sh [annotate] [data] [train] [arena] [selfplay] [options]
#                      some parts, or all: records to shards; shards to batches, compared with parsing text; a training
#                      step, compared with a plain one; play by precision; play into shards by back end
#     --records DIR    game records to annotate (default: simulated games)
#     --games N        games to annotate, or to simulate, and to play (default: 100)
#     --size SIZE      network to train: tiny, micro, mini, small, base or large (default: small)
#     --repeats N      repetitions of each measurement; the median is reported (default: 5)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
[[ " $* " != *" --help "* ]] || { usage && exit; }
set_up
exec python "$CHECKOUT/launch/benchmark.py" "$@"
