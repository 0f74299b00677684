#!/usr/bin/env bash
# The reference experiment: the four stages on one folder of shards, each from the encoder of the one before, and each
# measured on the test split. Given again after an interruption, the same command goes on where it stopped; --fresh may
# be added later, all else must stay.
#
#   launch/curriculum.sh SHARDS [options] [-- SETTINGS of kanachan-train, for all stages]
#     --out DIR             folder of the runs (default: runs/curriculum)
#     --fresh               also train each later stage from a fresh encoder with the same number of steps, so that the
#                           table shows what the curriculum is worth
#     --imitation-steps N   optimiser steps of the first stage (default: one pass over the training split)
#     --later-steps N       optimiser steps of each later stage (default: 400)
#
# Cost at the defaults: a step is 256 decisions, and a core imitates about 340 a second, so a pass over 450,000 takes 22
# minutes. Later stages draw decisions one by one (data.neighbours), about 150 a second, 12 minutes for each.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

shards='' out=runs/curriculum fresh=false later_steps=400
imitation_length=(--run.passes 1)
while (($#)); do
    case $1 in
        --out) out=${2:?--out needs a folder} && shift ;;
        --fresh) fresh=true ;;
        --imitation-steps) imitation_length=(--run.steps "${2:?--imitation-steps needs a number}") && shift ;;
        --later-steps) later_steps=${2:?--later-steps needs a number} && shift ;;
        --help | -h) usage && exit ;;
        --) shift && break ;;
        -*) fail "$1: no such option; launch/curriculum.sh --help names them" ;;
        *) [[ -z $shards ]] || fail "one folder of shards is expected, not $shards and $1"; shards=$1 ;;
    esac
    shift
done
[[ -n $shards ]] || fail "a folder of shards is missing: launch/curriculum.sh SHARDS"
[[ -d $shards ]] || fail "$shards: there is no such folder; kanachan-pack makes folders of shards"
settings=("$@")
set_up

runs=()

# train RUN STAGE [SETTINGS]: trains one run, unless that is done.
train() {
    local run=$out/$1 stage=$2 made_from
    shift 2
    runs+=("$run")
    made_from="$(realpath "$shards") $* ${settings[*]}"
    if [[ -f $run/weights.safetensors ]]; then
        [[ ! -f $run/made-from || $(<"$run/made-from") == "$made_from" ]] ||
            fail "$run was made from $(<"$run/made-from"), not from $made_from: name another folder with --out, or remove it"
        say "$run: trained already"
        return
    fi
    say "training $stage in $run"
    kanachan-train --stage "$stage" --data.path "$shards" --run.out "$run" --resume auto "$@" "${settings[@]}"
    # told to stop by a signal, kanachan-train leaves a checkpoint and ends well, but there are no weights yet
    [[ -f $run/weights.safetensors ]] || fail "stopped; the same command goes on from here"
    echo "$made_from" >"$run/made-from"
}

train imitation imitation "${imitation_length[@]}"
before=imitation
for stage in round_delta rank grading; do
    train "$stage" "$stage" --init "$out/$before" --run.steps "$later_steps"
    before=$stage
done
if $fresh; then
    for stage in round_delta rank grading; do
        train "fresh/$stage" "$stage" --run.steps "$later_steps"
    done
fi

is_measured() {
    local run
    [[ -f $out/evaluation.of && $(<"$out/evaluation.of") == "${runs[*]}" ]] || return
    for run in "${runs[@]}"; do
        [[ $out/evaluation.json -nt $run/weights.safetensors ]] || return
    done
}

if ! is_measured; then
    say "measuring on the test split"
    kanachan-evaluate "${runs[@]}" "$shards" --json "$out/evaluation.json" >"$out/evaluation.txt"
    echo "${runs[*]}" >"$out/evaluation.of"
fi
say "results (in full: $out/evaluation.txt)"
python "$CHECKOUT/launch/results.py" "$out/evaluation.json"
