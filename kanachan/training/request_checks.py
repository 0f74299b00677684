"""Checks a run before torch is loaded: its paths and its initial weights; warns about settings that are valid but
probably not intended."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from annotate.runtime.files import MISSING
from kanachan.config import SIZES, TrainConfig
from kanachan.data.shard_folder import ROUNDS, splits_in
from kanachan.models.card import read_card, require_encoder_sizes, vocabulary_of
from kanachan.objectives.stages import POLICY, REWARD, STAGES, previous_stage, require_scoring

_PLAYING = ("imitation", POLICY)
"""stages whose networks predict action probabilities"""
_NO_PROBABILITIES = "which has no probabilities of actions"
_NO_OUTCOMES = "which predicts no outcomes of games"
_LEAST_GAMES = 64
"""games an iteration of which 70 % fill a batch of stage reward"""
_ALL = None
_UNUSED: Mapping[str, Mapping[str, Collection[str] | None]] = {
    REWARD: {
        "model": _ALL,
        "objective": _ALL,
        "data": ("neighbours",),
        "optim": ("optimizer", "encoder_learning_rate", "frozen"),
        "run": ("attention", "compile", "recompute"),
    },
    # with dropout, probabilities could not be compared
    POLICY: {"model": ("dropout",), "objective": _ALL},
}
"""settings without effect, by stage and section, besides the sections of other stages"""


def require_source(config: TrainConfig) -> None:
    """Raises ValueError if there is no folder of shards, or both a folder and self-play are given."""
    data_path = config.data.path
    if config.selfplay.games is not None and config.stage == POLICY:
        if data_path:
            raise ValueError(f"--data.path {data_path} and --selfplay.games exclude each other: give one of them")
        return
    folder = Path(data_path)
    if folder.is_file():
        raise ValueError(
            f"--data.path {data_path}: a file; a folder of shards is needed: kanachan-pack makes it from annotations"
        )
    if not folder.is_dir():
        raise ValueError(f"--data.path {data_path}: {MISSING}")


def require_shards(stage: str, data_path: str) -> None:
    """Raises ValueError if there are no shards to train the stage on in the folder."""
    splits = _splits(stage, data_path)
    if "train" in splits:
        return
    if splits:
        raise ValueError(f"--data.path {data_path}: has no train split: pack again, as with --fractions 0.9,0.1,0")
    if stage == REWARD:
        raise ValueError(
            f"--data.path {data_path}: no rounds to train on; kanachan-annotate --pack and kanachan-selfplay "
            "write them beside the decisions; annotation lines have none"
        )
    raise ValueError(f"--data.path {data_path}: no shards to train on; kanachan-pack makes them from annotations")


def require_played(config: TrainConfig) -> None:
    """Raises ValueError if a run of stage policy lacks --init or a reward predictor that it needs."""
    if config.stage != POLICY:
        return
    if config.init is None:
        raise ValueError(f"stage {POLICY} needs --init: the weights with which the games were played")
    if config.policy.reward is None and config.selfplay.games is None:
        raise ValueError(
            f"stage {POLICY} needs --policy.reward: weights of a reward predictor (kanachan-train --stage {REWARD})"
        )


def _splits(stage: str, data_path: str) -> Collection[str]:
    """Returns the splits in a folder that have data for a stage."""
    return splits_in(Path(data_path) / ROUNDS if stage == REWARD else data_path)


def require_effect(config: TrainConfig) -> None:
    """Raises ValueError if a setting without effect in the stage differs from its default. Objectives check their own
    settings."""
    plays = config.stage == POLICY and config.selfplay.games is not None
    unused = dict(_UNUSED.get(config.stage, {}))
    unused |= {section: _ALL for section in (REWARD, POLICY) if section != config.stage}
    unused |= {} if plays else {"selfplay": _ALL}
    for section, names in unused.items():
        given = getattr(config, section)
        for setting in fields(given):
            value = getattr(given, setting.name)
            if (names is _ALL or setting.name in names) and value != setting.default:
                default = "null" if setting.default is None else setting.default
                raise ValueError(
                    f"{section}.{setting.name}={value} has no effect in stage {config.stage}; leave it at {default}"
                )


def sizes_of_init(init: str) -> dict[str, int]:
    """Returns the network sizes of the --init weights; raises ValueError if there are no such weights."""
    card = _card(init)
    return {name: card["model"][name] for name in SIZES}


def require_init(config: TrainConfig) -> None:
    """Raises ValueError if a run cannot start with its --init weights, or needs --init and has none."""
    if config.init is None:
        return
    card = _card(config.init)
    if config.stage == POLICY and card["stage"] not in _PLAYING:
        raise ValueError(
            f"--init {config.init}: of stage {card['stage']}; stage {POLICY} needs weights of {' or '.join(_PLAYING)}, "
            "which have probabilities of actions"
        )
    require_encoder_sizes(config.model, card["model"], config.init)
    if config.stage == POLICY and config.model.layers != card["model"]["layers"]:
        theirs = card["model"]["layers"]
        raise ValueError(
            f"--init {config.init}: stage {config.stage} needs all of its {theirs} encoder blocks, and model.layers is "
            f"{config.model.layers}: give --model.layers {theirs}"
        )


def require_other_networks(config: TrainConfig) -> None:
    """Raises ValueError if the network of objective.teacher does not predict action probabilities, or if those of
    objective.prior and objective.reward do not predict outcomes of games."""
    objective = config.objective
    if config.stage == _PLAYING[0]:  # other stages report that it has no effect
        _require_stage("objective.teacher", objective.teacher, _PLAYING, _NO_PROBABILITIES)
    for setting, path in (("objective.prior", objective.prior), ("objective.reward", objective.reward)):
        _require_stage(setting, path, (REWARD,), _NO_OUTCOMES)


def require_policy(config: TrainConfig) -> None:
    """Raises ValueError if points, weights or seeds of a new run of stage policy are wrong; with self-play, they are
    first used after hours."""
    if config.stage != POLICY or config.init is None:
        return
    num_seats, policy = vocabulary_of(config.init).num_seats, config.policy
    if policy.utility == "ranks" and len(policy.points) != num_seats:
        raise ValueError(
            f"policy.points={list(policy.points)}: --init {config.init} is for games of {num_seats} players: "
            f"{num_seats} points are needed, one for each rank"
        )
    _require_stage("policy.reward", policy.reward, (REWARD,), _NO_OUTCOMES)
    _require_stage("policy.magnet", policy.magnet, _PLAYING, _NO_PROBABILITIES)
    for setting, path in (("policy.reward", policy.reward), ("policy.magnet", policy.magnet)):
        if path is not None and (theirs := vocabulary_of(path).num_seats) != num_seats:
            raise ValueError(f"{setting}: {path} is for games of {theirs} players, --init {config.init} of {num_seats}")
    replace(config.run, seed=config.run.seed + config.selfplay.iterations - 1)  # raises if that is too high
    games = config.selfplay.games
    if games is not None and games < _LEAST_GAMES and policy.reward is None:
        raise ValueError(
            f"selfplay.games={games}: at least {_LEAST_GAMES} games an iteration are needed to fit a reward predictor: "
            "give more, or --policy.reward"
        )


def _require_stage(setting: str, path: str | None, stages: Collection[str], otherwise: str) -> None:
    """Raises ValueError, naming the setting, if the weights at a path, if any, are not of one of the stages."""
    if path is None:
        return
    try:
        stage = read_card(path)["stage"]
    except ValueError as error:
        raise ValueError(f"{setting}: {error}") from None
    if stage not in stages:
        raise ValueError(
            f"{setting}={path}: of stage {stage}, {otherwise}; weights of {' or '.join(stages)} are expected"
        )


def without_needless_stopping(config: TrainConfig) -> TrainConfig:
    """Returns the settings, without run.early_stopping if the data has no validation split."""
    if "validation" in _splits(config.stage, config.data.path):
        return config
    return replace(config, run=replace(config.run, early_stopping=None))


def with_possible_target(config: TrainConfig) -> TrainConfig:
    """Returns the settings, with objective.target=game if the data lacks the rounds that target=round needs."""
    objective, folder = config.objective, Path(config.data.path)
    needed = {"train", "validation"} & {"train", *splits_in(folder)}
    if objective.target == "game" or objective.reward or needed <= {*splits_in(folder / ROUNDS)}:
        return config
    return replace(config, objective=replace(objective, target="game"))


def warnings_of(config: TrainConfig, config_files: Iterable[tuple[Path, Mapping[str, Any]]]) -> list[str]:
    """Returns warnings about unusual settings of a new run, with advice. `config_files`: the --config files and their
    settings."""
    found = [
        f"--config {path} is of stage {values['stage']}, and all its settings replace the defaults of {config.stage}: "
        "give only the settings that should differ"
        for path, values in config_files
        if values.get("stage", config.stage) != config.stage
    ]
    before, names = previous_stage(config.stage), list(STAGES)
    card = None if config.init is None else _card(config.init)
    if config.init is None and before is not None:
        found.append(
            f"{config.stage} without --init starts with a new encoder; --init RUN, the folder of a run of {before}, "
            "starts with its trained encoder"
        )
    following = names[names.index(config.stage) + 1 :] if config.stage in names else []
    if card is not None and card["stage"] in following:
        found.append(
            f"--init {config.init} is of {card['stage']}, which comes after {config.stage}: the order of the stages is "
            + ", ".join(names)
        )
    if card is not None and config.objective.prior is not None and card["stage"] in _PLAYING:
        found.append(
            f"--init {config.init} is of {card['stage']}, so decoder and points of the round are new; those of "
            "round_delta, or of a later stage, are kept"
        )
    if card is not None and config.objective.teacher is None and config.model.layers < card["model"]["layers"]:
        found.append(
            f"--init {config.init} has {card['model']['layers']} encoder blocks, of which the network begins with "
            f"{config.model.layers} (model.layers): without --objective.teacher it takes longer to make up for the "
            "others"
        )
    # stage policy refuses such data, with advice of its own
    if config.stage != POLICY and config.data.path and "validation" not in _splits(config.stage, config.data.path):
        found.append(
            f"{config.data.path} has no validation split, so overfitting is not noticed and the run is not stopped "
            "early: kanachan-pack --fractions 0.8,0.1,0.1 makes one"
        )
    return found


def _card(init: str) -> dict[str, Any]:
    try:
        card = read_card(init)
    except ValueError as error:
        raise ValueError(f"--init {error}") from None
    require_scoring(card["stage"], f"--init {init}")
    return card
