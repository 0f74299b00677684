#!/usr/bin/env bash
# How quick the program is on this machine, each figure beside that of a plain way to do the same, measured in turns in
# the same run. Twenty minutes on two cores. The last line is JSON.
#
#   launch/benchmark.sh [annotate] [data] [train] [peak] [growing] [arena] [bot] [options]    some of the parts, or all:
#                      records to annotations, shards to batches, a training step, its share of the speed of matrix
#                      products, what a hundred times the data costs, play beside the engine alone, and how long
#                      kanachan-bot takes for an answer
#     --records DIR    game records to annotate (default: the folder KANACHAN_RECORDS, or shared/records beside the
#                      checkout; if there is neither, games are simulated)
#     --games N        games to annotate (default: 100)
#     --size SIZE      network to train and to play: tiny, small, base or large (default: small)
#     --repeats N      measurements of each figure, of which the median counts (default: 5)
#
#   launch/benchmark.sh against CHECKOUT --records RECORDS    this checkout against another one, an earlier commit for
#                      instance: the same commands in turns, their speeds, and whether they write the same; --help of it
#                      has the options
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
[[ ${1:-} == against || " $* " != *" --help "* ]] || { usage && exit; }
set_up
[[ ${1:-} != against ]] || exec python "$CHECKOUT/launch/benchmark/against.py" "${@:2}"
exec python "$CHECKOUT/launch/benchmark" "$@"
