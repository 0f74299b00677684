"""The data set card of a folder of shards: a README.md for the Hugging Face Hub, `datasets` and people.

It is written and replaced together with the shards; a README.md that someone else wrote is kept.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from annotate.annotation import HIDDEN
from annotate.vocabulary import Vocabulary

README_NAME = "README.md"
_MARK = "<!-- Written by kanachan with the shards, and replaced with them; without this line the file is kept. -->"
_MEANINGS = {
    "game": "key of the game: 64 bits of the SHA-256 of its id",
    "sparse": "the situation: table, seats, dora indicators, hand, drawn tile (tokens)",
    "progression": "public events of the round so far, in order (tokens)",
    "actions": "what the player may do (tokens, ascending)",
    "chosen": "index of the action taken, into actions",
    "numeric": "numbers at the decision, listed below",
    "results": "results of the round and the game, listed below",
    HIDDEN: "hands of the next, the opposite and the previous seat, which the player does not see (tokens)",
    "log_probability": "log probability of the action in the distribution that the player sampled from; NaN if none",
}
_MEANINGS_OF_ROUNDS = {
    "game": "key of the game, as in the decisions",
    "number": "place among the rounds of its game that are known, from 0",
    "wind": "0 East, 1 South, 2 West",
    "dealer": "seat of the dealer; seat 0 is the first dealer of the game",
    "honba": "number of honba counters",
    "deposits": "riichi sticks on the table at the start",
    "room": "0 Bronze … 4 Throne",
    "style": "0 East only, 1 East and South",
    "grade": "grade of each seat, 0 … 15",
    "score": "score of each seat at the start",
    "delta": "score change of each seat in the round, including riichi sticks",
    "final_score": "score of each seat at the end of the game",
    "rank": "rank of each seat at the end of the game, 0 is first",
    "grading_delta": "change of the grading points of each seat by the game",
}


class Table(NamedTuple):
    """Shards of the same columns."""

    name: str
    """name of the configuration for `datasets.load_dataset`"""
    prefix: str
    """prefix of the files' names in the folder"""
    shards: Sequence[Path]
    """all files, which must be complete"""
    rows: Mapping[str, int]
    """number of rows by split"""

    @property
    def columns(self) -> pa.Schema:
        with pa.ipc.open_stream(pa.memory_map(str(self.shards[0]))) as stream:
            return stream.schema


def dataset_card(tables: Sequence[Table], vocabulary: Vocabulary, made: Mapping[str, Any]) -> str:
    """Returns the text of the card: first the decisions, then the rounds if they are known; `made`: description of the
    data's origin (`kanachan.data.merge.Merge.write`)."""
    decisions, *others = tables
    rows = decisions.rows
    num_rounds = others[0].rows if others else Counter[str]()
    return f"""---
pretty_name: Decisions of riichi mahjong
tags: [mahjong, riichi-mahjong]
configs:
{_lines(_files(table) for table in tables)}
---
{_MARK}

# Decisions of riichi mahjong

A row is a decision of a player, in tokens of the vocabulary {vocabulary.name} ({vocabulary.fingerprint}). In words:
`kanachan.data.decisions.describe_row(row)`.

| split | decisions | games | rounds |
| --- | ---: | ---: | ---: |
{_lines(_counts(split, [count, made["games"].get(split, 0), num_rounds[split]]) for split, count in rows.items())}

| column | content |
| --- | --- |
{_lines(f"| `{name}` | {_MEANINGS[name]} |" for name in decisions.columns.names)}

`numeric` holds {_named(vocabulary.numeric)}.

`results` holds {_named(vocabulary.results)}.
The first is the way in which the round ended; the last three are the player's own.

```python
from datasets import load_dataset

dataset = load_dataset(".", split="{next(iter(rows), "train")}")  # of this folder
```

{_lines(map(_about_rounds, others))}## How it was made

By kanachan {made["version"]}, with the seed {made["seed"]}. Sources: {json.dumps(made["sources"], ensure_ascii=False)}.
Splits: {json.dumps(made["splits"])}. {_players(made)}Who may use the data depends on the game records from which they
were made.
"""


def _about_rounds(rounds: Table) -> str:
    return f"""## Rounds

A row of the configuration `{rounds.name}` (`load_dataset(".", "{rounds.name}")`) is a round of a game; rows are sorted
by game, and by their order in it.

| column | content |
| --- | --- |
{_lines(f"| `{name}` | {_MEANINGS_OF_ROUNDS[name]} |" for name in rounds.columns.names)}

"""


def _players(made: Mapping[str, Any]) -> str:
    by = made.get("by")
    return f"Decisions: only those of the players named {', '.join(by)}; rounds: of whole games. " if by else ""


def may_replace(path: Path) -> bool:
    """Returns whether the file does not exist or is a card written by kanachan."""
    return not path.exists() or _MARK in path.read_text(encoding="utf-8", errors="replace")


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)


def _counts(split: str, counts: Iterable[int]) -> str:
    return " | ".join([f"| {split}", *(f"{count:,}" for count in counts)]) + " |"


def _files(table: Table) -> str:
    paths = _lines(f"  - split: {split}\n    path: {table.prefix}{split}-*.arrow" for split in table.rows)
    return f"- config_name: {table.name}\n  data_files:\n{paths}"


def _named(names: Sequence[str]) -> str:
    return ", ".join(f"{place} `{name}`" for place, name in enumerate(names))
