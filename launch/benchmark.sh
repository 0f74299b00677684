#!/usr/bin/env bash
# Measures the speed of the program on this machine next to plain ways to do the same, in turns in the same run. It
# takes half an hour on two cores. The last line is JSON.
#
#   launch/benchmark.sh [annotate] [data] [train] [peak] [floor] [shapes] [growing] [arena] [selfplay] [bot] [three]
#                      [options]
#                      some parts, or all: records to annotations, shards to batches, a training step, its share of the
#                      speed of matrix products, its operations next to the least that they could take, networks of
#                      other shapes, the cost of a hundred times the data, play next to the engine alone, play into
#                      shards by back end, the time of a reply of kanachan-bot, three players next to four
#     --records DIR    game records to annotate (default: the folder KANACHAN_RECORDS, or shared/records next to the
#                      checkout; if neither exists, games are simulated)
#     --games N        games to annotate, to simulate, or to play into shards (default: 100)
#     --size SIZE      network to train and to play: tiny, micro, mini, small, base or large (default: small)
#     --repeats N      repetitions of each measurement, of which the median counts (default: 5)
#
#   launch/benchmark.sh against CHECKOUT --records RECORDS    this checkout against another one, such as an earlier
#                      commit: the same commands in turns, their speeds, and whether they write the same; its --help
#                      lists the options
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
[[ ${1:-} == against || " $* " != *" --help "* ]] || { usage && exit; }
set_up
[[ ${1:-} != against ]] || exec python "$CHECKOUT/launch/benchmark/against.py" "${@:2}"
exec python "$CHECKOUT/launch/benchmark" "$@"
