"""Opens an exported encoder as a process without this program does, and saves the outputs.

usage: open_encoder.py FOLDER ANNOTATIONS SHARD OUTPUT
"""

import sys
from importlib.abc import MetaPathFinder

import pyarrow as pa
import torch
from transformers import AutoModel


class NotInstalled(MetaPathFinder):
    """Finds no module of this program."""

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name.split(".")[0] in ("annotate", "kanachan"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


folder, annotations, shard, output = sys.argv[1:]
sys.meta_path.insert(0, NotInstalled())
encoder = AutoModel.from_pretrained(folder, trust_remote_code=True).eval()
with open(annotations) as file:
    lines = file.readlines()
rows = pa.ipc.open_stream(shard).read_next_batch()
forms = {"lines": lines, "rows": rows.to_pylist(), "columns": rows.to_pydict(), "Arrow": rows}
with torch.inference_mode():
    torch.save({name: encoder(**encoder.inputs_of(form)).pooler_output for name, form in forms.items()}, output)
encoder.save_pretrained(f"{output}.saved")
