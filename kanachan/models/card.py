"""Finds weights files and reads the cards in them. Imports nothing heavy: command lines are checked with it."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from annotate.runtime.files import MISSING
from annotate.vocabulary import Vocabulary, known_vocabularies, vocabulary_named, vocabulary_with
from kanachan.config import WEIGHTS_NAME, ModelConfig
from kanachan.data.shard_folder import splits_in
from kanachan.models.reference import resolved

CARD_KEY = "card"
ENCODER_NAME = "model.safetensors"
"""name of the weights in a folder made by kanachan-export, as transformers wants it"""
SIZES_OF_ENCODER = ("width", "layers", "heads", "feedforward")
"""fields of ModelConfig"""
FORMAT_VERSION = 2
"""2: decisions of a round share their events"""


def weights_file(path: str | Path) -> Path:
    """Returns the weights file for its path, its run folder or its name (`kanachan.models.reference`). Raises
    ValueError if there is no such file or the folder has no weights."""
    if path == "":
        raise ValueError("'': the name of weights is empty")
    given = resolved(path)
    if not given.exists():
        raise ValueError(f"{given}: {MISSING}; kanachan-models lists the names of the package's weights")
    if not given.is_dir():
        return given
    if (given / WEIGHTS_NAME).is_file():
        return given / WEIGHTS_NAME
    if splits_in(given):
        raise ValueError(f"{given}: a folder of shards; weights are expected here: a file, or the folder of a run")
    if (given / ENCODER_NAME).is_file():
        raise ValueError(f"{given}: an exported encoder; the weights that it was exported from are expected here")
    raise ValueError(f"{given}: no {WEIGHTS_NAME} in it; has the run ended?")


def vocabulary_of(path: str | Path) -> Vocabulary:
    """Returns the vocabulary of weights; raises ValueError like `read_card`."""
    return vocabulary_named(read_card(path)["vocabulary"])


def file_hash(path: str | Path) -> str:
    """Computes the SHA-256 of the weights file of a path or name, as in lineages."""
    return hashlib.sha256(weights_file(path).read_bytes()).hexdigest()


def weights_hash(path: str | Path) -> str:
    """Computes a hash of the weights file of a path or name, 16 hexadecimal digits: games record this hash of their
    players. Raises ValueError if there is no such file."""
    return file_hash(path)[:16]


def read_card(path: str | Path) -> dict[str, Any]:
    """Reads only the card of the weights file of a path or name. Raises ValueError, naming the file, if it is missing,
    cut off, not a weights file of this program, or has another format version or vocabulary."""
    file = weights_file(path)
    try:
        with safe_open(file, framework="np") as opened:
            text = (opened.metadata() or {}).get(CARD_KEY)
        card = json.loads(text) if text is not None else None
    except (SafetensorError, json.JSONDecodeError) as error:
        if file.suffix == ".ckpt":
            raise ValueError(
                f"{file}: a checkpoint, from which a run is resumed (kanachan-train --resume), not a weights file: "
                f"{WEIGHTS_NAME} is in the folder of a finished run"
            ) from None
        raise ValueError(f"{file}: not a complete weights file ({error})") from error
    if not isinstance(card, dict) or "stage" not in card:
        raise ValueError(f"{file}: a safetensors file without a card: kanachan-train did not write it")
    if card.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"{file}: written in format version {card.get('format_version')}, but this program has {FORMAT_VERSION} "
            "with another network: train it again, or use the version of the program that wrote it"
        )
    if vocabulary_with(card["vocabulary"], card["fingerprint"]) is None:
        raise ValueError(
            f"{file}: made for the vocabulary {card['vocabulary']} {card['fingerprint']}; this program has "
            f"{known_vocabularies()}"
        )
    return card


def require_encoder_sizes(model: ModelConfig, theirs: Mapping[str, Any], path: str | Path) -> None:
    """Raises ValueError, naming both sizes, if the encoder of the weights at `path` differs in size from `model`.

    It may have more blocks: a run of a shallower network starts with some of them (`kanachan.models.fewer_blocks`).
    """
    differing = [name for name in SIZES_OF_ENCODER if getattr(model, name) != theirs[name]]
    if model.layers < theirs["layers"]:
        differing.remove("layers")
    if differing:
        raise ValueError(
            f"the encoder of {path} has another size: "
            + ", ".join(f"model.{name} is {theirs[name]} there, {getattr(model, name)} here" for name in differing)
            + "; give "
            + " ".join(f"--model.{name} {str(theirs[name]).lower()}" for name in differing)
            + ", or omit the sizes to inherit them"
        )
