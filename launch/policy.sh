#!/usr/bin/env bash
# Improves a policy by games against itself (stage policy, docs/self-play.md), with lengths suited to the machine. The
# same command resumes an interrupted run; kanachan-train --resume DIR --selfplay.iterations N runs more iterations.
#
#   launch/policy.sh MACHINE WEIGHTS [SETTINGS of kanachan-train]
#     MACHINE           laptop: 2,400 games per iteration, all on the CPU; trains only the decoder
#                       gpu:    24,000 games per iteration, networks on the GPU
#                       ray:    100,000 games per iteration by the workers of a Ray cluster, the rest on this machine
#     WEIGHTS           the policy to improve: weights of stage imitation or policy, such as reference
#     SETTINGS          such as -o DIR (default: runs/policy), --selfplay.iterations N (default: 4), or
#                       --selfplay.address HOST:PORT of the Ray cluster (default: auto, on one of its machines)
#
# The rule-based player plays a tenth of the seats, so that the policy does not learn to beat only itself.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

[[ ${1:-} != --help && ${1:-} != -h ]] || { usage && exit; }
machine=${1:-} weights=${2:-}
case $machine in
    laptop)
        games=(--selfplay.games 2400 --run.accelerator cpu)
        # with a fixed encoder, its output is computed once for all policies
        games+=(--optim.frozen '[encoder]')
        ;;
    gpu) games=(--selfplay.games 24000 --selfplay.device cuda --run.accelerator gpu) ;;
    ray) games=(--selfplay.games 100000 --selfplay.backend ray --selfplay.address auto) ;;
    '') fail "the kind of machine is missing: launch/policy.sh laptop|gpu|ray WEIGHTS" ;;
    *) fail "$machine: laptop, gpu or ray is expected" ;;
esac
[[ -n $weights ]] || fail "weights are missing: launch/policy.sh $machine reference, for example"
set_up

exec kanachan-train --stage policy --init "$weights" -o runs/policy --resume auto "${games[@]}" \
    --selfplay.iterations 4 --selfplay.opponents '[rule=0.1]' "${@:3}"
