"""Weights on the Hugging Face Hub: `hf:ORG/NAME` names them wherever weights are named; kanachan-export pushes them.

Downloads are kept in the cache of `huggingface_hub`, which also finds the token (`hf auth login`, or HF_TOKEN).
"""

from functools import cache
from pathlib import Path

from kanachan.config import WEIGHTS_NAME
from kanachan.extras import require

PREFIX = "hf:"


@cache
def hub_file(name: str) -> Path:
    """Returns the local copy of the weights of a name, such as `hf:someone/mahjong`; downloads them if they are new.
    Raises ValueError: there are no such weights, or the Hub cannot be reached and they were not downloaded before."""
    require("hub", ("huggingface_hub",), name)
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(name.removeprefix(PREFIX), WEIGHTS_NAME))
    except LocalEntryNotFoundError as error:
        raise ValueError(f"{name}: the Hub cannot be reached, and no earlier download is here") from error
    except (EntryNotFoundError, HfHubHTTPError, HFValidationError, OSError) as error:
        raise ValueError(f"{name}: no weights there: {str(error).strip().splitlines()[0]}") from error


def push_folder(folder: Path, repository: str) -> str:
    """Uploads a folder to a repository of models, which is made if it is missing; returns its address. Raises
    ValueError: the Hub refuses it, or cannot be reached."""
    require("hub", ("huggingface_hub",), repository)
    import httpx2
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalTokenNotFoundError

    api = HfApi()
    try:
        address = api.create_repo(repository, exist_ok=True)
        api.upload_folder(repo_id=repository, folder_path=folder, commit_message="Upload weights with kanachan-export")
    except (HfHubHTTPError, HFValidationError, LocalTokenNotFoundError, httpx2.TransportError, OSError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"{repository}: not pushed: {reason} (hf auth login, or HF_TOKEN, gives the token)") from error
    return str(address)
