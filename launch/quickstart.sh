#!/usr/bin/env bash
# Goes from an empty checkout to a table of results and a page to look at: installs the program, converts games to
# annotations, trains the four stages of a small model, each from the encoder of the previous one, evaluates them on
# held-out games and writes the review of a game. It takes a quarter of an hour on two cores. After an interruption the
# same command resumes; with other records than before, all is made again and what was trained is kept aside.
#
#   launch/quickstart.sh             games simulated between rule-based players, in quickstart/simulated
#   launch/quickstart.sh RECORDS…    your game records (files, folders or glob patterns), in quickstart/records; one of
#                                    your games is reviewed first, by the network that comes with the program. Where
#                                    some are of four and some of three players, those are taken that are as the first
#
# The variable QUICKSTART names another folder than quickstart in the checkout.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

case ${1:-} in
    --help | -h) usage && exit ;;
    -*) fail "$1: there are no options; launch/quickstart.sh --help explains the arguments" ;;
esac
for path in "$@"; do
    # patterns and members of archives (archive.zip!file) are looked for by the program
    [[ $path == *[*?![]* || -e $path ]] || fail "$path: there is no such file or folder"
done
set_up
exec python "$CHECKOUT/launch/quickstart.py" --folder "${QUICKSTART:-$CHECKOUT/quickstart}" -- "$@"
