#!/usr/bin/env bash
# Runs the reference experiment: trains the four stages on one folder of shards, each from the encoder of the previous
# stage, evaluates them on the test split, measures the effect of calibration, and draws reliability diagrams. After an
# interruption, the same command resumes.
#
#   launch/curriculum.sh SHARDS [options] [-- SETTINGS of kanachan-train, for all stages]
#     --output DIR          folder of the runs (default: runs/curriculum)
#     --imitation-steps N   optimiser steps of the first stage (default: four epochs of the training split)
#     --later-steps N       optimiser steps of each later stage (default: for one decision per round, at least
#                           100,000 decisions); rank and grading end earlier if they no longer improve
#
# Cost at the defaults: imitation trains on 340 to 600 decisions per second and core (data.batch decisions per step), so
# four epochs of 450,000 take 50 to 90 minutes. Later stages draw decisions one by one (data.neighbours), 200 to 400 per
# second: 4 to 8 minutes for 100,000. All evaluations take 10 minutes.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

shards='' out=runs/curriculum
imitation_length=(--run.passes 4)
later_length=()
while (($#)); do
    case $1 in
        -o | --output) out=${2:?--output needs a folder} && shift ;;
        --imitation-steps) imitation_length=(--run.steps "${2:?--imitation-steps needs a number}") && shift ;;
        --later-steps) later_length=(--run.steps "${2:?--later-steps needs a number}") && shift ;;
        --help | -h) usage && exit ;;
        --) shift && break ;;
        -*) fail "$1: no such option; launch/curriculum.sh --help lists them" ;;
        *) [[ -z $shards ]] || fail "one folder of shards is expected, not $shards and $1"; shards=$1 ;;
    esac
    shift
done
[[ -n $shards ]] || fail "a folder of shards is missing: launch/curriculum.sh SHARDS"
[[ -d $shards ]] || fail "$shards: no such file or folder; kanachan-pack makes folders of shards"
for split in train validation test; do
    compgen -G "$shards/$split-*.arrow" >/dev/null ||
        fail "$shards has no $split split: pack again with larger shares, such as kanachan-pack --fractions 0.8,0.1,0.1"
done
settings=("$@")
set_up

runs=()

# tensors_of RUN: prints a hash of its weights without their card, which kanachan-calibrate changes.
tensors_of() {
    local weights=$out/$1/weights.safetensors size
    size=$(od -An -t u8 -N 8 "$weights") # size of the header, which contains the card
    tail -c "+$((size + 9))" "$weights" | sha256sum | cut -c 1-16
}

# train STAGE FROM [SETTINGS]: trains a stage, unless this is done, from the encoder of the stage FROM or, if FROM is
# empty, from scratch.
train() {
    local stage=$1 run=$out/$1 from=$2 made_from made_with was='' was_with=''
    shift 2
    runs+=("$run")
    made_from="$(realpath "$shards")" made_with="$* ${settings[*]}"
    if [[ -n $from ]]; then
        made_from+=", the encoder of $from $(tensors_of "$from")"
        set -- --init "$out/$from" "$@"
    fi
    if [[ -f $run/made-from ]]; then
        { IFS= read -r was && IFS= read -r was_with; } <"$run/made-from" || true
        [[ $was == "$made_from" ]] ||
            fail "$run was made from $was, not from $made_from: name another folder with --output, or remove it"
        [[ $was_with != "$made_with" || ! -f $run/weights.safetensors ]] || { say "$run: trained already" && return; }
    fi
    say "training $stage in $run"
    kanachan-train --stage "$stage" --data.path "$shards" --run.out "$run" --resume auto "$@" "${settings[@]}"
    # when stopped by a signal, kanachan-train saves a checkpoint and exits with status 0, without writing weights
    [[ -f $run/weights.safetensors ]] || fail "stopped; the same command resumes from here"
    printf '%s\n' "$made_from" "$made_with" >"$run/made-from"
}

train imitation '' "${imitation_length[@]}" --optim.average 0.999
train round_delta imitation "${later_length[@]}"
train rank round_delta "${later_length[@]}"
train grading rank "${later_length[@]}"

# is_made FILE: succeeds if the file is newer than all weights.
is_made() {
    local run
    for run in "${runs[@]}"; do
        [[ $1 -nt $run/weights.safetensors ]] || return
    done
}

if ! is_made "$out/evaluation.json"; then
    say "evaluating on the test split"
    kanachan-evaluate "${runs[@]}" "$shards" --json "$out/evaluation.json" --force >"$out/evaluation.txt"
fi
is_made "$out/reliability.png" ||
    python "$CHECKOUT/launch/reports/plot_reliability.py" "$out/evaluation.json" -o "$out/reliability.png"

# unless_stopped STATUS TEXT: continues after status 1, with which commands report that a network cannot be calibrated
# because it has hardly learned anything. Ctrl-C and other signals end the script.
unless_stopped() {
    (($1 == 1)) || exit "$1"
    say "$2"
}

calibrate() {
    local run=$out/$1 name=$out/calibration-$1
    is_made "$name.txt" && return
    say "calibrating $1 on the validation split, evaluating it on the test split"
    kanachan-calibrate "$run" "$shards" -o "$run/calibrated.safetensors" --force >"$name.part" || {
        unless_stopped $? "$1 is not calibrated"
        return 0
    }
    kanachan-evaluate --compare "$run" "$run/calibrated.safetensors" "$shards" --json "$name.json" --force >>"$name.part"
    mv "$name.part" "$name.txt"
}
calibrate imitation
calibrate rank
say "results (also in $out/evaluation.txt; calibration-*.txt, reliability.png)"
cat "$out/evaluation.txt"
