"""kanachan-export: the encoder of a weights file as a `transformers` model, for tasks of one's own."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from annotate.terminal import run_cleanly

PROGRAM = "kanachan-export"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Writes the encoder of a weights file so that, after `import kanachan.transformers_encoder`, "
        "`transformers.AutoModel.from_pretrained(DIR)` loads it.",
    )
    parser.add_argument("weights", metavar="WEIGHTS", help="weights file, or the folder of a run that has ended")
    parser.add_argument("-o", "--out", metavar="DIR", required=True, help="folder to write; made if it is missing")
    arguments = parser.parse_args(argv)
    return run_cleanly(PROGRAM, lambda: _export(arguments.weights, Path(arguments.out)))


def _export(weights_path: str, out: Path) -> None:
    # Heavy imports come only now, after the arguments have been found valid.
    from kanachan.checkpoint import CARD_NAME, load_network, write_card
    from kanachan.transformers_encoder import KanachanConfig, KanachanEncoder

    network, _, card = load_network(weights_path)
    model = card["model"]
    config = KanachanConfig(
        **{name: model[name] for name in ("width", "layers", "heads", "feedforward", "dropout")},
        vocabulary=card["vocabulary"],
        fingerprint=card["fingerprint"],
        actor_first=card["config"]["data"]["actor_first"],
    )
    exported = KanachanEncoder(config)
    exported.encoder.load_state_dict(network.encoder.state_dict(), strict=True)
    out.mkdir(parents=True, exist_ok=True)
    exported.save_pretrained(out)
    write_card(out / CARD_NAME, card)
    num_parameters = sum(parameter.numel() for parameter in exported.parameters())
    print(f"{out}: encoder of stage {card['stage']}, {num_parameters:,} parameters, width {config.width}")


if __name__ == "__main__":
    sys.exit(main())
