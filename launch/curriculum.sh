#!/usr/bin/env bash
# Runs the reference experiment: trains the four stages on one folder of shards, each from the encoder of the previous
# one, evaluates them on the test split, measures the effect of calibration, and draws reliability diagrams. After an
# interruption the same command resumes; --fresh may be added later, all else must stay.
#
#   launch/curriculum.sh SHARDS [options] [-- SETTINGS of kanachan-train, for all stages]
#     --output DIR          folder of the runs (default: runs/curriculum)
#     --fresh               also train each later stage from a fresh encoder with the same settings, so that the table
#                           shows the effect of the curriculum
#     --selfplay N          also play N games of the imitation with itself and some rule-based players, train each later
#                           stage on these games alone (DIR/selfplay/STAGE) and from there on the games of SHARDS
#                           (DIR/selfplay-first/STAGE), and evaluate these too, all on the games of SHARDS
#     --imitation-steps N   optimiser steps of the first stage (default: four epochs of the training split)
#     --later-steps N       optimiser steps of each later stage (default: 1600, of 64 decisions); rank and grading end
#                           sooner when they no longer improve
#
# Cost at the defaults: a core imitates 340 to 500 decisions a second (data.batch of them are a step), so four epochs of
# 450,000 take 60 to 90 minutes. Later stages draw decisions one by one (data.neighbours), 150 to 250 a second, 7 to 12
# minutes for each; all evaluations take 10 minutes. A core plays 1 to 2 games of self-play a second.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

shards='' out=runs/curriculum fresh=false selfplay='' later_steps=1600
imitation_length=(--run.passes 4)
while (($#)); do
    case $1 in
        -o | --output) out=${2:?--output needs a folder} && shift ;;
        --fresh) fresh=true ;;
        --selfplay) selfplay=${2:?--selfplay needs a number of games} && shift ;;
        --imitation-steps) imitation_length=(--run.steps "${2:?--imitation-steps needs a number}") && shift ;;
        --later-steps) later_steps=${2:?--later-steps needs a number} && shift ;;
        --help | -h) usage && exit ;;
        --) shift && break ;;
        -*) fail "$1: no such option; launch/curriculum.sh --help lists them" ;;
        *) [[ -z $shards ]] || fail "one folder of shards is expected, not $shards and $1"; shards=$1 ;;
    esac
    shift
done
[[ -n $shards ]] || fail "a folder of shards is missing: launch/curriculum.sh SHARDS"
[[ -d $shards ]] || fail "$shards: no such file or folder; kanachan-pack makes folders of shards"
[[ $selfplay =~ ^([1-9][0-9]*)?$ ]] || fail "--selfplay $selfplay: a number of games is expected"
settings=("$@")
set_up

runs=()

# tensors_of RUN: prints a hash of its weights without their card, which kanachan-calibrate changes.
tensors_of() {
    local weights=$out/$1/weights.safetensors size
    size=$(od -An -t u8 -N 8 "$weights") # of the head, which holds the card
    tail -c "+$((size + 9))" "$weights" | sha256sum | cut -c 1-16
}

# train RUN STAGE FROM DATA [SETTINGS]: trains one run, unless that is done, from the encoder of another or, if FROM is
# empty, from a fresh one.
train() {
    local run=$out/$1 stage=$2 from=$3 data=$4 made_from
    shift 4
    runs+=("$run")
    made_from="$(realpath "$data") $* ${settings[*]}"
    [[ $data != "$games" ]] || made_from+=", $(<"$games.made-from")"
    if [[ -n $from ]]; then
        made_from+=", the encoder of $from $(tensors_of "$from")"
        set -- --init "$out/$from" "$@"
    fi
    if [[ -f $run/weights.safetensors ]]; then
        [[ ! -f $run/made-from || $(<"$run/made-from") == "$made_from" ]] ||
            fail "$run was made from $(<"$run/made-from"), not from $made_from: name another folder with --output, or remove it"
        say "$run: trained already"
        return
    fi
    say "training $stage in $run"
    kanachan-train --stage "$stage" --data.path "$data" --run.out "$run" --resume auto "$@" "${settings[@]}"
    # stopped by a signal, kanachan-train leaves a checkpoint and exits with status 0, but there are no weights yet
    [[ -f $run/weights.safetensors ]] || fail "stopped; the same command resumes from here"
    echo "$made_from" >"$run/made-from"
}

# play FROM: plays the games of self-play of a run, unless that is done. An interrupted run of kanachan-selfplay leaves
# a hidden folder, and is resumed.
games=$out/games
play() {
    local from=$1 made_from
    made_from="$selfplay games of $from $(tensors_of "$from")"
    [[ ! -f $games.made-from || $(<"$games.made-from") == "$made_from" ]] ||
        fail "$games holds $(<"$games.made-from"), not $made_from: name another folder with --output, or remove $games and $games.made-from"
    echo "$made_from" >"$games.made-from"
    if compgen -G "$games/*.arrow" >/dev/null && [[ ! -e $games/.kanachan-selfplay.part ]]; then
        say "$games: played already"
        return
    fi
    say "playing $selfplay games of $from in $games"
    kanachan-selfplay "$out/$from@0.7=0.85" rule=0.15 --explore 0.05 -n "$selfplay" -o "$games"
}

# Lines: the stages in their order, and those whose probabilities can be calibrated.
mapfile -t stage_lines < <(python - <<'PYTHON'
from kanachan.objectives.networks import objective_class
from kanachan.objectives.stages import STAGES

print(*STAGES)
print(*(stage for stage in STAGES if objective_class(stage).temperatures))
PYTHON
)
((${#stage_lines[@]} == 2)) || fail "the stages of the curriculum cannot be read"
read -ra stages <<<"${stage_lines[0]}"
read -ra calibrated <<<"${stage_lines[1]}"
first_stage=${stages[0]} later_stages=("${stages[@]:1}")

later=(--run.steps "$later_steps" --data.batch 64 --data.micro_batch 32 --run.validation_interval 12800)
train "$first_stage" "$first_stage" '' "$shards" "${imitation_length[@]}" --optim.average 0.999
before=$first_stage
for stage in "${later_stages[@]}"; do
    train "$stage" "$stage" "$before" "$shards" "${later[@]}"
    before=$stage
done
if $fresh; then
    for stage in "${later_stages[@]}"; do
        train "fresh/$stage" "$stage" '' "$shards" "${later[@]}"
    done
fi
if [[ -n $selfplay ]]; then
    play "$first_stage"
    before=$first_stage
    for stage in "${later_stages[@]}"; do
        train "selfplay/$stage" "$stage" "$before" "$games" "${later[@]}"
        train "selfplay-first/$stage" "$stage" "selfplay/$stage" "$shards" "${later[@]}"
        before=selfplay/$stage
    done
fi

# is_made FILE: succeeds if the file is newer than all weights.
is_made() {
    local run
    for run in "${runs[@]}"; do
        [[ $1 -nt $run/weights.safetensors ]] || return
    done
}

if ! is_made "$out/evaluation.json" || [[ ! -f $out/evaluation.of || $(<"$out/evaluation.of") != "${runs[*]}" ]]; then
    say "evaluating on the test split"
    kanachan-evaluate "${runs[@]}" "$shards" --json "$out/evaluation.json" --force >"$out/evaluation.txt"
    echo "${runs[*]}" >"$out/evaluation.of"
    python "$CHECKOUT/launch/reports/plot_reliability.py" "$out/evaluation.json" -o "$out/reliability.png"
fi

# unless_stopped STATUS TEXT: continues after the status 1, by which commands report that networks that have hardly
# learned anything cannot be calibrated. Ctrl-C and other signals end the script.
unless_stopped() {
    (($1 == 1)) || exit "$1"
    say "$2"
}

calibrate() {
    local run=$out/$1 name=$out/calibration-$1
    is_made "$name.txt" && return
    say "calibrating $1 on the validation split, evaluating it on the test split"
    kanachan-calibrate "$run" "$shards" -o "$run/calibrated.safetensors" --force >"$name.part" &&
        kanachan-evaluate --compare "$run" "$run/calibrated.safetensors" "$shards" --json "$name.json" --force >>"$name.part" &&
        mv "$name.part" "$name.txt" || unless_stopped $? "$1 is not calibrated"
}
for stage in "${calibrated[@]}"; do
    calibrate "$stage"
done
say "results (in full: $out/evaluation.txt, calibration-*.txt, reliability.png)"
python "$CHECKOUT/launch/reports/results.py" "$out/evaluation.json"
