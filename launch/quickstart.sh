#!/usr/bin/env bash
# Goes from an empty checkout to a table of results: installs the program, converts games to annotations, trains the
# four stages of a small model, each from the encoder of the previous one, and evaluates them on held-out games. It
# takes a quarter of an hour on two cores. After an interruption the same command resumes.
#
#   launch/quickstart.sh             games simulated between rule-based players, in quickstart/simulated
#   launch/quickstart.sh RECORDS…    your game records (files, folders or glob patterns), in quickstart/records
#
# The variable QUICKSTART names another folder than quickstart in the checkout.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

num_games=300
folder=${QUICKSTART:-$CHECKOUT/quickstart}
case ${1:-} in
    --help | -h) usage && exit ;;
    -*) fail "$1: there are no options; launch/quickstart.sh --help explains the arguments" ;;
esac
if (($#)); then
    work=$folder/records
    records=()
    for path in "$@"; do
        # patterns and members of archives (archive.zip!file) are looked for by kanachan-annotate
        [[ $path == *[*?![]* || -e $path ]] || fail "$path: there is no such file or folder"
        [[ $path == /* ]] || path=$PWD/$path
        records+=("$path")
    done
    made_from=$(printf '%s\n' "${records[@]}")
else
    work=$folder/simulated
    made_from="$num_games simulated games"
    records=("$work/games")
fi
set_up
mkdir -p "$work"
if [[ -f $work/made-from && $(<"$work/made-from") != "$made_from" ]]; then
    fail "$work was made from $(tr '\n' ' ' <"$work/made-from"): remove it, or name another folder with QUICKSTART=DIR"
fi
echo "$made_from" >"$work/made-from"

if [[ ! -f $work/annotations.txt.zst ]]; then
    if (($# == 0)); then
        say "simulating $num_games games between rule-based players"
        kanachan-simulate -n "$num_games" --rules mjsoul --seed 1 -o "$work/games"
    fi
    say "converting games to annotations: one line for each decision of each player"
    kanachan-annotate "${records[@]}" -o "$work/annotations.txt.zst"
fi
say "the first decision in words"
kanachan-annotate --explain 1 "$work/annotations.txt.zst"
if [[ ! -d $work/shards ]]; then
    say "packing annotations into shards; every tenth game is held out for validation, every tenth for the test"
    rm -rf "$work/shards.part"
    kanachan-pack "$work/annotations.txt.zst" -o "$work/shards.part" --fractions 0.8,0.1,0.1
    [[ -f $work/shards.part/validation-00000.arrow && -f $work/shards.part/test-00000.arrow ]] ||
        fail "too few games to hold out some for validation and test: give about 30 or more"
    mv "$work/shards.part" "$work/shards"
fi
"$CHECKOUT/launch/curriculum.sh" "$work/shards" --output "$work/runs" --imitation-steps 1600 --later-steps 500 \
    -- --config "$CHECKOUT/configs/quickstart.yaml"

here=${work#"$PWD"/} bin=${VENV#"$PWD"/}/bin launch=${CHECKOUT#"$PWD"/}/launch
cat >&2 <<END

== next steps (see README.md and docs/)

The model's predictions for each decision:  $bin/kanachan-predict $here/runs/imitation $here/annotations.txt.zst --explain | less
All metrics:                                less $here/runs/evaluation.txt
The encoder, for other projects:            $bin/kanachan-export $here/runs/grading -o encoder
The same with your game records:            $launch/quickstart.sh RECORDS…
A larger model, for longer:                 $launch/curriculum.sh $here/shards --output $here/small -- --model.size small
END
