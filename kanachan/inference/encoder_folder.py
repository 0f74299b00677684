"""Writes the folder of kanachan-export for `transformers`: weights, configuration, code and a model card.

The code is a copy of the running program's code: with `trust_remote_code=True`, `transformers` opens the folder even if
this program is not installed.
"""

import ast
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from safetensors import SafetensorError
from transformers.utils.logging import disable_progress_bar, enable_progress_bar, is_progress_bar_enabled

from kanachan.inference import encoder
from kanachan.inference.encoder import KanachanConfig, KanachanEncoder
from kanachan.inference.policy import Policy
from kanachan.models.card_text import card_sections
from kanachan.models.weights import CARD_NAME, write_card

_PACKAGES = ("annotate", "kanachan")
_ABOUT = "README.md"
_CODE = "modeling_kanachan"
_AUTO_MAP = {"AutoConfig": f"{_CODE}.{KanachanConfig.__name__}", "AutoModel": f"{_CODE}.{KanachanEncoder.__name__}"}


def export_encoder(policy: Policy, folder: Path, name: str | None = None) -> int:
    """Writes the encoder of a network to a folder, which is made if it is missing; returns its number of parameters.
    The example in the model card opens the encoder by `name`, by default the folder's name."""
    sizes = {key: size for key, size in policy.card["model"].items() if key != "decoder_layers"}
    config = KanachanConfig(
        **sizes,
        vocabulary=policy.vocabulary.name,
        fingerprint=policy.vocabulary.fingerprint,
        auto_map=_AUTO_MAP,
    )
    exported = KanachanEncoder(config)
    exported.encoder.load_state_dict(policy.network.encoder.state_dict(), strict=True)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".kanachan-export.") as temporary:
        shows_bars = is_progress_bar_enabled()
        disable_progress_bar()  # type: ignore[no-untyped-call]  # for writing one file
        try:
            exported.save_pretrained(temporary)
        except SafetensorError as error:  # a disk error
            raise OSError(f"{folder}: the weights could not be written ({error})") from error
        finally:
            if shows_bars:
                enable_progress_bar()  # type: ignore[no-untyped-call]
        for module, text in _copied_sources().items():
            Path(temporary, f"{module}.py").write_text(text, encoding="utf-8")
        Path(temporary, _ABOUT).write_text(_about(policy, name or folder.resolve().name), encoding="utf-8")
        write_card(Path(temporary, CARD_NAME), policy.card)
        mode = Path(temporary, CARD_NAME).stat().st_mode  # of usual files; only the owner can read safetensors files
        for file in Path(temporary).iterdir():
            file.chmod(mode)
            file.replace(folder / file.name)
    return sum(parameter.numel() for parameter in exported.parameters())


def _about(policy: Policy, name: str) -> str:
    """Returns the text of README.md: the folder's contents, an example and the model card."""
    card = policy.card
    licence = card.get("licence") or card.get("license")
    sizes = ", ".join(f"{name} {value}" for name, value in card["model"].items() if name != "decoder_layers")
    return f"""---
library_name: transformers
pipeline_tag: feature-extraction
tags: [mahjong, riichi-mahjong, encoder]
{f"license: {str(licence).lower()}" if licence else "# license: not stated in the card of the weights"}
---

# A mahjong encoder

The encoder of a network of kanachan (stage {policy.stage}: {policy.meaning}).
It turns decisions of riichi mahjong into vectors. It needs `torch`, `transformers` (4.45 or later), `safetensors` and
`numpy`, not kanachan: the code is in this folder.

```python
import torch
from transformers import AutoModel

encoder = AutoModel.from_pretrained("{name}", trust_remote_code=True).eval()
lines = open("annotations.txt").readlines()[:100]
with torch.no_grad():
    situation = encoder(**encoder.inputs_of(lines)).pooler_output  # [decisions, width]
```

Where kanachan is installed, use `import kanachan.inference.huggingface` instead of `trust_remote_code=True`.

`encoder.inputs_of(rows)` takes annotation lines of `kanachan-annotate`, or rows of shards of `kanachan-pack`: a list of
mappings, a mapping from columns to lists (`dataset[:100]` of `datasets`), or an Arrow record batch or table. Only the
columns sparse, numeric, progression and actions are read. Give it a few hundred decisions at a time.

| output | size | content |
| --- | --- | --- |
| `pooler_output` | decisions × width | the situation |
| `last_hidden_state` | decisions × own tokens × width | the situation, every seat, every tile |

Where `inputs["tiles"]` is 0, a row of `last_hidden_state` after the seats is padding.

## Sizes

{sizes}; vocabulary {policy.vocabulary.name} ({policy.vocabulary.fingerprint}).

{"".join(_section(title, lines) for title, lines in card_sections(card).items())}## Licence

The code is kanachan's (MIT). The weights: {licence or "not stated in their card"}. `{CARD_NAME}` contains
all that is known about their training.
"""


def _section(title: str, lines: Sequence[str]) -> str:
    return "".join([f"## {title}\n\n", *(f"- {line.strip()}\n" for line in lines), "\n"])


def _copied_sources() -> dict[str, str]:
    """Returns by name the text of the encoder's module (`_CODE`) and of all modules of this program that it needs:
    files of one folder, which import each other relatively.

    They import modules of this program only with `from package.module import names`; the test of an export ensures it.
    """
    sources: dict[str, str] = {}
    waiting = [encoder.__name__]
    while waiting:
        module = waiting.pop()
        name = _name_of_copy(module)
        if name not in sources:
            sources[name], imported = _copied(module)
            waiting += imported
    sources[_CODE] += _names_of(sorted(sources.keys() - {_CODE}))
    return sources


def _name_of_copy(module: str) -> str:
    """Returns the name of the copy of a module, such as kanachan_data_batch."""
    return _CODE if module == encoder.__name__ else module.replace(".", "_")


def _names_of(modules: list[str]) -> str:
    """Returns statements that name modules without importing them: `transformers` before 5.11 copies to its cache only
    modules that the opened module names, not their dependencies."""
    imports = "\n".join(f"    from .{module} import *" for module in modules)
    return f"\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n{imports}\n"


def _copied(module: str) -> tuple[str, list[str]]:
    """Returns the text of a module with relative imports, and the modules of this program that it imports."""
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None, module
    text = Path(spec.origin).read_text(encoding="utf-8")
    lines, imported = text.splitlines(), []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.split(".")[0] in _PACKAGES:
            place = node.lineno - 1
            lines[place] = lines[place].replace(f"from {node.module} ", f"from .{_name_of_copy(node.module)} ", 1)
            imported.append(node.module)
    heading = f"# Copied by kanachan-export from {module} of kanachan. SPDX-License-Identifier: MIT\n"
    return heading + "\n".join(lines) + "\n", imported
