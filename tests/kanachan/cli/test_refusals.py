"""Calls that the commands refuse in one line, beyond `test_options_paths`, and files that only --force overwrites."""

import shlex
import shutil
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
import torch

from annotate.annotation import format_line
from annotate.vocabulary import THREE_PLAYERS
from kanachan.cli.main import main
from kanachan.models.weights import read_weights, write_weights
from tests.kanachan.conftest import PlayedGames
from tests.support.packed import packed, write_lines
from tests.support.paths import CONFIGS
from tests.support.random_annotations import random_annotations
from tests.support.reviewed import events_of, write_record
from tests.support.round_folders import round_folder
from tests.support.rounds import V3
from tests.support.three_players import decisions_of_three
from tests.support.tiny_rewards import written_reward
from tests.support.tiny_weights import written

STAGES = ("imitation", "round_delta", "rank", "grading")
TRAIN = f"train --config {CONFIGS / 'debug.yaml'} --run.out out --run.threads 1 --stage"
OWN = "--run.out out --run.wandb disabled --run.threads 1"
POLICY = "train --stage policy --init imitation --data.path played --data.batch 16 --data.micro_batch 16 " + OWN
REVIEW = "--seat 0 -o out.html"
NO_REWARD = "weights of stage rank; a reward predictor is expected here"
GAIN = "evaluate --split validation --gain imitation imitation played"
REFUSALS = [
    ("annotate game.jsonl --pack out --fractions=1,2", "--fractions must be three numbers"),
    ("annotate game.jsonl --pack out --rows-per-shard=0", "rows per shard must be in 1"),
    ("annotate game.jsonl --pack out --seed=-1", "the seed must be in 0 ... 2^64 - 1"),
    ("annotate game.jsonl --pack out --grades 14,14,14", "--grades 14,14,14: one grade, or 4 for 4 seats"),
    ("annotate text.txt --pack out", "no decision point"),
    ("annotate text.txt -o out.txt", "no decision point"),
    ("annotate game.jsonl -o out.txt --by Suphx LuckyJ", "no decision point by LuckyJ or Suphx in any of the records"),
    ("annotate 'https://tenhou.net/0/?log=2021070100gm-00a9-0000-11112222&tw=2' -o out.txt", "store the page as 2021"),
    ("annotate 'https://tenhou.net/6/#json={}' -o out.txt", "store this address in a file"),
    ("annotate lines.txt --explain 99999", "--explain 99999: it has 20 decisions"),
    ("annotate bad.txt --explain 2", "bad.txt:2: 7 tab-separated fields expected"),
    ("annotate game.jsonl --explain 1 --grades 1,2,3", "--grades 1,2,3: one grade, or 4 for 4 seats"),
    ("annotate game.jsonl --explain 1 --players 3", "they are for another number of players"),
    ("annotate game.jsonl --explain 1 --by Suphx", "their records hold no names, which --by needs"),
    ("annotate game.jsonl -o out.txt --by ''", "--by: a name is empty"),
    ("annotate game.jsonl -o out.txt --fractions 1,0,0", "have an effect only with --pack"),
    ("annotate game.jsonl -o out.txt.xz", "out.txt.xz: only .gz and .zst are written compressed"),
    ("evaluate imitation imitation/weights.safetensors", "is a file of weights: SHARDS are expected behind WEIGHTS"),
    ("pack --train - --test - -o out", "standard input can be read only once"),
    ("annotate lines.txt --explain 0", "--explain must be at least 1, not 0"),
    ("annotate game.jsonl -o out.txt --shard 3/2", "'3/2' is not I/N with I from 1 to N, such as 1/4"),
    ("annotate game.jsonl -o out.txt --shard 0/2", "'0/2' is not I/N with I from 1 to N, such as 1/4"),
    ("annotate game.jsonl -o out.txt --shard a/b/2", "'a/b/2' is not I/N with I from 1 to N, such as 1/4"),
    ("annotate game.jsonl --pack text.txt --force", "text.txt: a file; name an existing or a new folder"),
    ("annotate game.jsonl --pack text.txt/shards --force", "text.txt: a file; name an existing or a new folder"),
    ("pack lines.txt -o out --fractions nan,0.5,0.5", "fractions must be three shares that sum to 1"),
    ("pack lines.txt -o out --seed 18446744073709551616", "the seed must be in 0 ... 2^64 - 1"),
    ("pack lines.txt -o ''", "the name of the folder to write is empty"),
    ("pack lines.txt -o lines.txt --force", "lines.txt: a file; name an existing or a new folder"),
    ("pack shards -o out --keep-splits --fractions 0.5,0.5,0", "--fractions has no effect with --keep-splits"),
    ("pack --train lines.txt -o out --fractions 0.5,0.5,0", "--fractions has no effect with --train"),
    ("pack --unpack shards -o out.txt --seed 5", "have no effect with --unpack"),
    ("simulate -o '' -n 1", "the name of the folder to write is empty"),
    ("simulate -o text.txt -n 1", "text.txt: a file; name an existing or a new folder"),
    ("export imitation -o text.txt --force", "text.txt: a file; name an existing or a new folder"),
    ("pack --train lines.txt --test lines.txt -o out", "lines.txt: the game game-"),
    ("pack lines.txt --keep-splits -o out", "lines.txt: not a folder of shards"),
    ("pack --train lines.txt --keep-splits -o out", "--keep-splits keeps those of folders"),
    ("pack empty.txt -o out", "there is no annotation in"),
    ("pack empty -o out", "holds no shards"),
    ("pack lines.txt three.txt -o out", "three.txt:1: "),
    ("annotate --explain 1 lines.txt --by Suphx", "lines.txt: holds annotations, on which options about records have"),
    (f"{TRAIN} grading --data.path shards --objective.prior rank", "which predicts no outcomes of games"),
    (f"{TRAIN} imitation --data.path shards --objective.hidden_hands 1", "train-00000.arrow: holds no hidden hands"),
    (f"{TRAIN} rank --data.path shards --optim.optimizer muon --run.strategy zero1", "use --run.strategy ddp, or"),
    (f"{TRAIN} rank --data.path shards --optim.average 0.9 --run.strategy zero3", "optim.average needs whole weights"),
    (f"{TRAIN} imitation --data.path shards --run.devices 3", "data.batch=32 cannot be shared equally by 3 devices"),
    (f"{TRAIN} imitation --data.path shards --optim.frozen [summary_head]", "this network has no summary_head"),
    (f"{TRAIN} imitation --data.path shards --optim.frozen [encoder,decoder,head]", "leaves nothing to train"),
    (f"{TRAIN} imitation --data.path shards --optim.frozen [encodr]", "encodr is none of the parts encoder, decoder"),
    (f"{TRAIN} rank --data.path shards --run.out text.txt/run", "text.txt"),
    (f"{TRAIN} rank --data.path shards --objective.reward reward --objective.target round", "holds no rounds of the"),
    (f"{TRAIN} imitation --data.path shards --objective.teacher three", "made for the vocabulary kanachan-3p"),
    (f"train --stage reward --data.path shards {OWN}", "no rounds to train on; kanachan-annotate --pack"),
    (f"train --stage reward --data.path rounds --data.batch 64 {OWN}", "9 games to train on, fewer than one batch"),
    (f"train --stage reward --data.path rounds --data.batch 4 --run.early_stopping 3 {OWN}", "needs a validation spl"),
    (f"{POLICY} --policy.reward reward --policy.magnet rank", "of stage rank, which has no probabilities of actions"),
    (f"{POLICY} --policy.reward imitation", "imitation: of stage imitation, which predicts no outcomes of games"),
    ("evaluate imitation empty shards", "has the run ended?"),
    ("evaluate imitation shards --device abacus", "--device abacus"),
    ("evaluate --compare imitation shards", "--compare needs two WEIGHTS or more"),
    ("evaluate rank shards --baseline rank", NO_REWARD),
    ("evaluate rank reward shards", "weights of stage reward are measured alone"),
    ("evaluate --compare imitation three shards", "three: of the vocabulary kanachan-3p, but imitation is of"),
    ("evaluate reward rounds --limit 5", "--limit has no effect on weights of stage reward"),
    ("evaluate imitation lines.txt --split train", "--split has no effect on annotation lines"),
    ("evaluate imitation shards --predictions lines.txt", "kanachan-pack --unpack"),
    (f"{GAIN} --utility grading_points --points 3,1,0,-4", "--points has no effect with --utility grading_points"),
    ("evaluate imitation imitation shards shards --gain", "--gain is for one folder of SHARDS"),
    ("evaluate --gain imitation shards", "--gain needs two WEIGHTS, NEW and OLD"),
    ("evaluate imitation shards --utility ranks", "--utility needs --gain"),
    (f"{GAIN} --compare", "--compare does not go with --gain"),
    (f"{GAIN} --unseen", "--unseen does not go with --gain"),
    (f"{GAIN} --points 1,x", "numbers such as 90,45,0,-135 expected"),
    ("evaluate --split validation --gain imitation policy played --reward reward", "policy: its file has the hash"),
    ("evaluate --gain imitation imitation shards", "holds no games as kanachan-selfplay writes them"),
    (f"{GAIN.replace('played', 'norounds')} --reward reward", "holds no rounds of the split 'validation'"),
    ("evaluate --split validation --gain three imitation played", "but that of three is kanachan-3p"),
    ("evaluate --split validation --gain reward imitation played", "chooses no actions"),
    (f"{GAIN} --reward rank", NO_REWARD),
    ("calibrate round_delta shards", "weights of the stage round_delta"),
    ("calibrate grading shards", "weights of the stage grading"),
    ("predict rank game.jsonl", "game.jsonl: looks like a game record: run kanachan-annotate first"),
    ("predict rank cut.txt", "cut.txt:1: not an annotation, or cut off"),
    ("predict rank shards", "kanachan-pack --unpack makes them from shards"),
    ("predict rank empty.txt", "empty"),
    ("predict rank three.txt", "three.txt:1: "),
    ("predict rank lines.txt -o lines.txt", "lines.txt"),
    ("predict rank bad.txt -o out.txt", "bad.txt:2: 7 tab-separated fields expected, 6 found"),
    ("predict misfit lines.txt", "the tensors do not fit its card"),
    (f"review text.txt imitation {REVIEW}", "text.txt: not a game record"),
    (f"review two.jsonl imitation {REVIEW}", "two.jsonl holds 2 games: choose one with --game 1 ... 2"),
    (f"review two.jsonl imitation --game 3 {REVIEW}", "two.jsonl: --game 3: it has 2 games"),
    (f"review . imitation {REVIEW}", "one record is reviewed at a time"),
    (f"review game.jsonl three {REVIEW}", "game.jsonl: a game of 4 players, but three is for games of 3"),
    (f"review three.jsonl reference {REVIEW}", "three.jsonl: a game of 3 players, but reference is for games of 4"),
    ("review game.jsonl imitation --seat 0 -o game.jsonl --force", "game.jsonl: is read, and would be overwritten"),
    ("review game.jsonl imitation --seat 0 -o out.html --json imitation/../out.html", "the page is written there"),
    ("review game.jsonl imitation --seat 0 -o -", "cannot be written to standard output"),
    ("review game.jsonl imitation --seat Eve -o out.html", "no player has this name: 0, 1, 2, 3, all"),
    (f"review none.xml none --threshold 20 {REVIEW}", "--threshold"),
    (f"review none.xml none --game 0 {REVIEW}", "--game"),
    ("arena rule random -n 4 --records ''", "the name of the folder to write is empty"),
    ("selfplay rule -n 4 -o out --backend inline -j 4", "-j 4 has no effect with --backend inline"),
    ("calibrate imitation shards -o shards/train-00000.arrow --force", "is read, and would be overwritten"),
    ("pack --unpack shards -o shards/train-00000.arrow --force", "is read, and would be overwritten"),
    ("pack --unpack '' lines.txt -o out", "--unpack takes one folder of shards, and no files of annotations"),
    ("evaluate imitation shards --json shards/train-00000.arrow --force", "is read, and would be overwritten"),
    ("arena rule random --games 0", "--games must be at least 1, not 0"),
    ("arena rule random -n 4 --grades 16", "1 or 2 grades 0 ... 15 expected, such as 14, not '16'"),
    ("arena imitation rule -n 4 --json imitation/weights.safetensors --force", "is read, and would be overwritten"),
    ("predict imitation lines.txt -o imitation/weights.safetensors --force", "is read, and would be overwritten"),
    ("evaluate imitation shards --json imitation/weights.safetensors --force", "is read, and would be overwritten"),
    ("arena rule random -n 4 --points 1,2,nan,4", "numbers such as 90,45,0,-135 expected, not 1,2,nan,4"),
    ("arena rule random -n 4 --resume", "name it"),
    ("arena rule random -n 4 --difference 0", "--difference must be from 0.0001 to 3.0, not 0.0"),
    ("arena rule random -n 4 --json text.json --resume", "text.json.games: this journal of an interrupted run"),
    ("arena three imitation -n 3", "imitation: weights for games of 4 players, but three for 3: all players of a game"),
    ("arena three rule --players 4 -n 3", "three: weights for games of 3 players, but --players 4 was given"),
    ("arena imitation rule --format 1v2 -n 3", "--format 1v2: for games of 3 players, but --players or the weights"),
    ("arena rule rule --format 2v1 --players 4 -n 3", "--format 2v1: for games of 3 players"),
    ("arena rule rule --players 3 --room 0 -n 3", "room 0: its grading points with 3 players"),
    ("arena rule rule --points 1,2,3 -n 4", "--points 1,2,3: one for each of 4 places expected"),
    ("arena mjai:no-such-program rule -n 4 --processes 1", "mjai:no-such-program 0 cannot be started: No such file"),
    ("selfplay rule=0.5 random=0.4 -n 2 -o out", "sum to 0.9: they must sum to 1"),
    ("selfplay rule=0.5 random -n 2 -o out", "random: has no share"),
    ("selfplay imitation@0 -n 2 -o out", "a temperature must be a positive number, not 0"),
    ("selfplay imitation@0,7 -n 2 -o out", "a temperature must be a positive number, not 0,7"),
    ("arena imitation@-1 rule -n 4", "a temperature must be a positive number, not -1"),
    ("selfplay imitation@0.7 -n 2 -o out --players 3", "imitation: weights for games of 4 players, but --players 3"),
    ("selfplay rule -n 2 -o out --players 3 --room 1", "room 1: its grading points with 3 players are not known"),
    ("selfplay rule -n 2 -o out --backend ray --address auto --device cuda", "--device cuda: on a cluster (--address)"),
    ("selfplay rule -n 2 -o out --explore 1.5", "--explore must be a share in 0 ... 1, not 1.5"),
    ("selfplay rule -n 2 -o out --explore 0.5", "has no effect without a network among the players"),
    (f"selfplay {'rule ' * 27}-n 2 -o out", "27 players: at most 26 can take turns"),
    ("selfplay rule -n 2 -o out --records text.txt", "text.txt: a file; name an existing or a new folder"),
    ("arena rule random -n 4 --records text.txt", "text.txt: a file; name an existing or a new folder"),
    ("selfplay rule -n 2 -o out --grades 1,2", "1 or 3 or 4 grades 0 ... 15 expected"),
    ("arena rule:timid rule -n 4", "no such temperament; there are steady"),
    ("arena mjai: rule -n 4", "a command expected"),
    ("bot imitation 4", "SEAT"),
    ("bot imitation 0 --grades 1,2,3", "--grades 1,2,3: "),
    ("bot imitation 0 --sample 0", "--sample"),
    ("bot three 3", "for games of 3 players: give a seat from 0 to 2"),
    ("bot imitation --connect ws://localhost --token-file noise.txt", "noise.txt: not UTF-8: "),
    ("arena encoder rule -n 4", "encoder: an exported encoder; the weights that it was exported from are expected"),
    ("bot imitation --connect ws://localhost", "--connect and --token-file belong together"),
    ("bot imitation 0 --connect ws://localhost --token-file token", "SEAT has no effect with --connect"),
    ("bot imitation", "SEAT is missing"),
    ("export imitation", "--onnx"),
    ("export imitation -o imitation", "imitation: the folder of a run"),
    ("export imitation -o out --onnx imitation/../out", "the folder of -o; name another for --onnx"),
    ("export imitation -o readme --force", "README.md is not of an export, and would be overwritten"),
    ("export imitation --onnx readme --force", "README.md is not of an export, and would be overwritten"),
]
"""the arguments of `kanachan`, and a part of its message"""


@pytest.fixture(scope="module")
def folder(played: PlayedGames, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds weights of all kinds, shards of people's games and of self-play, lines, records and broken files."""
    folder = tmp_path_factory.mktemp("refusals")
    for stage in (*STAGES, "policy"):
        written(folder / stage, stage, layers=1)
    written(folder / "three", vocabulary=THREE_PLAYERS)
    misfit = read_weights(written(folder / "misfit"))
    write_weights(misfit.path, misfit.tensors, {**misfit.card, "model": {**misfit.card["model"], "width": 32}})
    written_reward(folder / "reward" / "weights.safetensors")
    packed(folder / "shards", 60, 60, 60)
    round_folder(folder / "rounds", train=9)
    shutil.copy(played.weights, folder / "imitation")
    shutil.copytree(played.shards, folder / "played")
    shutil.copytree(folder / "played", folder / "norounds", ignore=shutil.ignore_patterns("rounds"))
    annotations = random_annotations(20, seed=0)
    write_lines(folder / "lines.txt", annotations)
    write_lines(folder / "three.txt", decisions_of_three(3))
    lines = [format_line(a) for a in annotations[:2]]
    (folder / "bad.txt").write_text(lines[0] + "\n" + lines[1].rpartition("\t")[0] + "\n")
    (folder / "cut.txt").write_text("game-1\t1,2")
    (folder / "text.txt").write_text("no record\n")
    (folder / "text.json.games").write_bytes(b"\xff\xfe\n\xff\n")
    (folder / "empty.txt").touch()
    (folder / "empty").mkdir()
    (folder / "encoder").mkdir()
    (folder / "encoder" / "model.safetensors").touch()
    (folder / "noise.txt").write_bytes(b"\xb5\n")
    (folder / "readme").mkdir()
    (folder / "readme" / "README.md").write_text("mine")
    write_record(folder / "game.jsonl", events_of(5))
    write_record(folder / "two.jsonl", events_of(5), events_of(6))
    write_record(folder / "three.jsonl", events_of(5, vocabulary=V3))
    return folder


def run(command: str, folder: Path) -> tuple[int, str]:
    """Returns the exit status of `kanachan`, run in the folder, and its error output."""
    with chdir(folder), redirect_stderr(StringIO()) as error, redirect_stdout(StringIO()):
        try:
            status = main(shlex.split(command))
        except SystemExit as exit_:
            status = int(exit_.code or 0)
    return status, error.getvalue()


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    found = {str(path.relative_to(folder)): path.stat() for path in folder.rglob("*") if path.is_file()}
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in found.items()}


@pytest.mark.parametrize(("command", "words"), REFUSALS)
def test_a_wrong_call_is_refused_in_one_line_and_changes_nothing(command: str, words: str, folder: Path) -> None:
    before, threads = contents(folder), torch.get_num_threads()
    status, printed = run(command, folder)
    torch.set_num_threads(threads)
    assert status in (1, 2) and words in printed, printed
    error = printed.splitlines()[-1]
    assert words in error and error.startswith(f"kanachan {command.split()[0]}: error: ") and "Errno" not in error
    left = {path.name for path in folder.iterdir() if path.name.startswith("out")}
    for name in left:  # from a training that was refused after it had made its folder
        assert not list((folder / name).rglob("*.safetensors")) and not list((folder / name).rglob("*.arrow"))
        shutil.rmtree(folder / name)
    assert contents(folder) == before


@pytest.mark.parametrize(
    "command",
    [
        "annotate game.jsonl -j 1 -o OUT",
        "evaluate imitation shards --bootstrap 5 --json OUT",
        "predict imitation lines.txt -o OUT",
        "calibrate imitation shards --bootstrap 5 -o OUT",
        "pack --unpack shards -o OUT",
        "review game.jsonl imitation --seat 0 -o OUT",
        "review game.jsonl imitation --seat 0 -o out.html --json OUT",
        "arena rule random -n 4 --style east --processes 1 --bootstrap 5 --json OUT",
    ],
)
def test_a_file_is_replaced_only_by_force(command: str, folder: Path) -> None:
    out = folder / "out.file"
    out.write_text("mine")
    given = command.replace("OUT", out.name)
    status, error = run(given, folder)
    assert (status, out.read_bytes()) == (1, b"mine")
    assert "out.file: exists: name another file, or replace it with --force" in error
    assert not (folder / "out.html").exists()
    assert run(f"{given} --force", folder)[0] == 0 and out.read_bytes() != b"mine"
    for path in folder.glob("out.*"):
        path.unlink()


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("pack lines.txt -o OUT --fractions 1,0,0", "train-00000.arrow"),
        ("annotate game.jsonl --pack OUT --fractions 1,0,0 -j 1", "train-00000.arrow"),
        ("selfplay rule -n 1 --style east --fractions 1,0,0 -j 1 -o OUT", "train-00000.arrow"),
        ("export imitation -o OUT", "model.safetensors"),
        ("arena rule random -n 4 --style east --processes 1 --bootstrap 5 --records OUT", "*.jsonl.gz"),
    ],
)
def test_a_folder_is_replaced_only_by_force(command: str, part: str, folder: Path) -> None:
    out = folder / "out"
    given = command.replace("OUT", out.name)
    assert run(given, folder)[0] == 0
    file = sorted(out.glob(part))[0]
    (content, _) = file.read_bytes(), file.write_bytes(b"mine")
    before = contents(out)
    status, error = run(given, folder)
    assert status in (1, 2) and "--force" in error and contents(out) == before
    assert run(f"{given} --force", folder)[0] == 0 and file.read_bytes() == content
    shutil.rmtree(out)


def test_the_table_holds_each_command_that_writes() -> None:
    commands = {command.split()[0] for command, _ in REFUSALS}
    assert commands >= {"annotate", "pack", "train", "evaluate", "calibrate", "predict", "review", "arena", "export"}
