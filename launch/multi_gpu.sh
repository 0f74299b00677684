#!/usr/bin/env bash
# Trains one stage on all GPUs of this machine. If a process of the run is killed, restarts the run from the last
# checkpoint, as long as every start makes progress.
#
#   launch/multi_gpu.sh RUN [options] -- SETTINGS of kanachan-train
#     RUN             folder of the run; the same command resumes an interrupted run, and the settings
#                     --resume RUN --run.steps N train it further
#     --restarts N    maximum number of restarts (default: 5)
#
# A trial on two CPU processes: launch/multi_gpu.sh runs/try -- --stage imitation --data.path shards --run.accelerator cpu
# --run.devices 2
#
# SIGTERM, SIGUSR1 and Ctrl-C are passed on: the run saves a checkpoint and ends. The exit status is the last start's.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

run='' restarts=5
while (($#)); do
    case $1 in
        --restarts) restarts=${2:?--restarts needs a number} && shift ;;
        --help | -h) usage && exit ;;
        --) shift && break ;;
        -*) fail "$1: no such option; settings of kanachan-train go after --" ;;
        *) [[ -z $run ]] || fail "one folder for the run is expected, not $run and $1"; run=$1 ;;
    esac
    shift
done
[[ $restarts =~ ^[0-9]+$ ]] || fail "--restarts $restarts: a number is expected"
[[ -n $run ]] && (($#)) || fail "a run and settings are expected: launch/multi_gpu.sh RUN -- --stage … --data.path …"
set_up

pid='' interrupted=false stopped=false
pass_on() {
    interrupted=true stopped=true
    [[ -z $pid ]] || kill -s "$1" "$pid" 2>/dev/null || true
}
for name in TERM INT USR1; do
    trap "pass_on $name" "$name"
done

# train SETTINGS: starts the run once; sets status.
train() {
    set -m  # a separate process group
    kanachan-train "$@" &
    set +m
    pid=$!
    while
        interrupted=false status=0
        wait "$pid" || status=$?
        $interrupted
    do :; done
    kill -s KILL -- "-$pid" 2>/dev/null || true  # ends processes that a killed process has left behind
}

# progress: prints a text that changes with every checkpoint.
progress() { stat --format '%i %y' "$run/checkpoints/last.ckpt" 2>/dev/null || true; }

give_up() {
    printf '%s: error: %s: the run ended with status %d, and %s\n' "$(basename "$0")" "$run" "$status" "$1" >&2
    exit "$status"
}

for ((start = 1; ; start++)); do
    before=$(progress)
    train --resume auto "$@" --run.out "$run"
    if ((status == 0)) || $stopped; then break; fi
    [[ $(progress) != "$before" ]] || give_up "made no checkpoint since it was started"
    ((start <= restarts)) || give_up "was started $start times"
    say "$run: the run ended with status $status; starting it again from its last checkpoint"
done
[[ $run/weights.safetensors -nt $run/checkpoints/last.ckpt ]] ||
    say "$run: stopped before its end; the same command resumes from here"
exit "$status"
