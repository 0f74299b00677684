"""Registers the encoder, so that AutoModel opens it with this program's code:

import kanachan.inference.huggingface
encoder = AutoModel.from_pretrained(folder)  # made by kanachan-export
"""

from transformers import AutoConfig, AutoModel

from kanachan.inference.encoder import KanachanConfig, KanachanEncoder

AutoConfig.register(KanachanConfig.model_type, KanachanConfig)
AutoModel.register(KanachanConfig, KanachanEncoder)
