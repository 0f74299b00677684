#!/usr/bin/env bash
# Goes from an empty checkout to a table of results and a review page: installs the program, converts games to
# annotations, trains the four stages of a small model, each from the encoder of the previous stage, evaluates them on
# held-out games and writes the review of a game. Takes a quarter of an hour on two cores. After an interruption, the
# same command resumes; with other records than before, starts again and keeps the earlier results in another folder.
#
#   launch/quickstart.sh             games simulated between rule-based players, in quickstart/simulated
#   launch/quickstart.sh RECORDS…    your game records (files, folders or glob patterns), in quickstart/records; one of
#                                    your games is reviewed first, by the network of the package. If some games are of
#                                    four and some of three players, only games like the first one are used
#
# The variable QUICKSTART sets another folder than quickstart in the checkout.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

case ${1:-} in
    --help | -h) usage && exit ;;
    -*) fail "$1: there are no options; launch/quickstart.sh --help explains the arguments" ;;
esac
for path in "$@"; do
    # the program itself finds patterns and members of archives (archive.zip!file)
    [[ $path == *[*?![]* || -e $path ]] || fail "$path: there is no such file or folder"
done
set_up
exec python "$CHECKOUT/launch/quickstart.py" --folder "${QUICKSTART:-$CHECKOUT/quickstart}" -- "$@"
