"""kanachan-export: exports a trained network: its encoder as a `transformers` model, or the whole network as ONNX."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from annotate.runtime.arguments import CommandParser, add_force_option
from annotate.runtime.files import require_folder
from annotate.runtime.terminal import run_cleanly
from kanachan.cli.environment import set_environment
from kanachan.cli.options import WEIGHTS_HELP, require_policies
from kanachan.config import WEIGHTS_NAME
from kanachan.extras import require_extra
from kanachan.models.card import ENCODER_NAME

if TYPE_CHECKING:
    from kanachan.inference.policy import Policy

PROGRAM = "kanachan-export"
_DESCRIPTION = """Exports a trained network for use in other programs. -o writes its encoder, which
`transformers.AutoModel.from_pretrained(DIR, trust_remote_code=True)` opens, even if this program is not installed.
--onnx writes encoder.onnx and policy.onnx (the whole network, which scores the possible actions); the files are kept
only if their outputs equal the network's outputs. A README.md describes both."""


def main(argv: Sequence[str] | None = None) -> int:
    set_environment()
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.output is None and arguments.onnx is None and arguments.push_to_hub is None:
        parser.error("nothing to write: give -o, --onnx or --push-to-hub")
    if arguments.output is not None and arguments.onnx is not None:
        if Path(arguments.output).resolve() == Path(arguments.onnx).resolve():
            parser.error(f"{arguments.onnx}: the folder of -o; name another for --onnx")
    return run_cleanly(PROGRAM, lambda: _export(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(PROGRAM, description=_DESCRIPTION)
    parser.add_argument("weights", metavar="WEIGHTS", help=WEIGHTS_HELP)
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="folder to write the encoder for transformers to; created if missing"
    )
    parser.add_argument("--onnx", metavar="DIR", help="folder to write the ONNX files to; created if missing")
    parser.add_argument(
        "--push-to-hub",
        metavar="ORG/NAME",
        help="upload the files that -o writes and the weights file to the Hugging Face Hub; every command then accepts "
        "hf:ORG/NAME",
    )
    add_force_option(parser)
    return parser


def _export(arguments: argparse.Namespace) -> None:
    require_policies(arguments.weights)
    for folder in (folder for folder in (arguments.output, arguments.onnx) if folder is not None):
        require_folder(folder)
        there = {path.name for path in Path(folder).glob("[!.]*")}
        if WEIGHTS_NAME in there:
            raise ValueError(f"{folder}: the folder of a run; name another")
        if there and not arguments.force:
            raise ValueError(f"{folder}: not empty: name another folder, or replace files in it with --force")
        if "README.md" in there and not there & {ENCODER_NAME, "policy.onnx"}:
            raise ValueError(f"{folder}/README.md is not of an export, and would be overwritten: name another folder")
    # Heavy imports come only now, after the arguments have been found valid.
    if arguments.onnx is not None:
        require_extra("onnx", ("onnx", "onnxscript", "onnxruntime"), "--onnx")
    if arguments.output is not None or arguments.push_to_hub is not None:
        require_extra("encoder", ("transformers",))
    if arguments.push_to_hub is not None:
        require_extra("hub", ("huggingface_hub", "httpx2"), "--push-to-hub")
    from kanachan.inference.policy import Policy
    from kanachan.models.weights import CARD_NAME, write_card

    policy = Policy.load(arguments.weights)
    if arguments.output is not None:
        from kanachan.inference.encoder_folder import export_encoder

        number, width = export_encoder(policy, Path(arguments.output)), policy.card["model"]["width"]
        print(f"{arguments.output}: encoder of stage {policy.stage}, {number:,} parameters, width {width}")
    if arguments.onnx is not None:
        _to_onnx(policy, Path(arguments.onnx))
        write_card(Path(arguments.onnx, CARD_NAME), policy.card)
    if arguments.push_to_hub is not None:
        _push(policy, arguments.weights, arguments.push_to_hub)


def _push(policy: "Policy", weights: str, repository: str) -> None:
    """Uploads the encoder and the weights file to a repository of the Hub, which is created if missing. Raises
    ValueError if the Hub refuses them or cannot be reached."""
    import httpx2
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalTokenNotFoundError

    from kanachan.inference.encoder_folder import export_encoder
    from kanachan.models.card import weights_file
    from kanachan.models.reference import HUB_PREFIX

    api, message = HfApi(), "Upload weights with kanachan-export"
    with tempfile.TemporaryDirectory(prefix="kanachan-export.") as temporary:
        export_encoder(policy, Path(temporary), repository)
        shutil.copyfile(weights_file(weights), Path(temporary, WEIGHTS_NAME))
        try:
            address = api.create_repo(repository, exist_ok=True)
            api.upload_folder(repo_id=repository, folder_path=temporary, commit_message=message)
        except (HfHubHTTPError, HFValidationError, LocalTokenNotFoundError, httpx2.TransportError, OSError) as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            where_from = "hf auth login, or HF_TOKEN, gives the token"
            raise ValueError(f"{repository}: not pushed: {reason} ({where_from})") from error
    print(f"{address}: {HUB_PREFIX}{repository} names these weights")


def _to_onnx(policy: "Policy", folder: Path) -> None:
    from kanachan.inference.onnx_export import export_onnx
    from kanachan.inference.simulated_decisions import simulated_decisions

    print(f"{folder}: converting to ONNX, which takes a minute or two", file=sys.stderr, flush=True)
    columns = simulated_decisions(policy.vocabulary, seed=1)
    for path, difference in export_onnx(policy, folder, columns).items():
        print(f"{path}: equals the network on {len(columns):,} decisions, within {difference:.1e}")
