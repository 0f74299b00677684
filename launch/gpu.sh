#!/usr/bin/env bash
# Measures the program on a GPU, and compares what it computes there with the CPU. Each part takes less than eight minutes
# on a GPU and writes a JSON file; table.md has them all. The same command does the parts that are missing. It makes its
# own games.
#
#   launch/gpu.sh [PART …] [options]
#     PART             parity:      losses and outputs of all stages, against those of the CPU in fp32
#                      packing:     packed attention against padded attention
#                      compiling:   torch.compile on and off
#                      training:    steps of small, base and large in bf16: speed, share of the peak, memory
#                      profile:     where a training step goes
#                      sharding:    ZeRO 1, 2 and 3 of DeepSpeed against DDP, on one GPU
#                      checkpoints: runs resumed on the CPU that were stopped on the GPU, and the other way round
#                      inference:   the network alone, by the size of the batch
#                      arena:       games of one process, by the size of the batch
#                      selfplay:    games of all cores, by device and precision
#                      (default: all)
#     -o DIR           folder of the results (default: gpu)
#     --work DIR       folder of games and runs, which can be removed afterwards (default: a temporary one)
#     --again          measure parts again that are complete
#     --tiny           tiny networks and few steps: a check that everything works, also on a CPU
#
# On a machine without internet set KANACHAN_WHEELS (docs/benchmarks.md).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { usage && exit; }
set_up
exec python "$CHECKOUT/launch/gpu" "$@"
