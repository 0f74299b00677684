"""The files of the settings that a stage has by default: configs/STAGE.yaml, and over it, for games of three players,
configs/STAGE-3p.yaml where there is one. Imports nothing heavy."""

from pathlib import Path

from annotate.vocabulary import VOCABULARIES, Vocabulary, vocabulary_named
from kanachan.data.shard_folder import ROUNDS, splits_in
from kanachan.models.card import vocabulary_of


def stage_path(stage: str) -> Path:
    """Returns the path of the stage's default settings: inside an installed package, else in the checkout."""
    package = Path(__file__).parents[1]
    installed = package / "configs"
    folder = installed if installed.is_dir() else package.parent / "configs"
    return folder / f"{stage}.yaml"


def files_of_players(stage: str, vocabulary: Vocabulary) -> list[Path]:
    """Returns the file of the defaults that a stage has for so many players, if there is one."""
    path = _path_of_players(stage, vocabulary)
    return [path] if path.is_file() else []


def vocabulary_of_run(stage: str, data_path: str | None, init: str | None) -> Vocabulary | None:
    """Returns the vocabulary of the shards that a run reads, or of the weights that play its games; None if none can be
    read, which is reported where the run opens them, or the stage has the same defaults for all. Raises ValueError,
    which names the weights, if they cannot be read."""
    if not any(_path_of_players(stage, vocabulary).is_file() for vocabulary in VOCABULARIES.values()):
        return None
    if not data_path:
        return None if init is None else vocabulary_of(init)
    from kanachan.data.shard_file import open_shard_file

    folders = (Path(data_path), Path(data_path) / ROUNDS)
    paths = [path for folder in folders for of_split in splits_in(folder).values() for path in of_split]
    try:
        return vocabulary_named(open_shard_file(paths[0])[0]["vocabulary"]) if paths else None
    except ValueError:
        return None


def _path_of_players(stage: str, vocabulary: Vocabulary) -> Path:
    return stage_path(f"{stage}-{vocabulary.num_seats}p")
