"""The encoder of a network as a `transformers` model. kanachan-export copies this module and its imports into the
folder that it writes, so that the folder can be opened without this program.

Shapes: B situations, O own tokens (padded), D width.
"""

from dataclasses import fields
from typing import Any

from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPooling

from kanachan.config import ModelConfig
from kanachan.data.batch import TokenLayout
from kanachan.data.decisions import Rows
from kanachan.inference.situation_inputs import SITUATION_INPUTS, encoded, exported_vocabulary, inputs_of_rows
from kanachan.models.transformer import Encoder


class KanachanConfig(PretrainedConfig):  # type: ignore[no-untyped-call]
    """Sizes of an encoder, and its vocabulary, which must be given. `hidden_size` is another name for the width."""

    model_type = "kanachan_encoder"
    attribute_map = {"hidden_size": "width", "num_hidden_layers": "layers", "num_attention_heads": "heads"}

    def __init__(
        self,
        width: int = ModelConfig.width,
        layers: int = ModelConfig.layers,
        heads: int = ModelConfig.heads,
        feedforward: int = ModelConfig.feedforward,
        dropout: float = ModelConfig.dropout,
        vocabulary: str = "",
        fingerprint: str = "",
        **kwargs: Any,
    ) -> None:
        self.width = width
        self.layers = layers
        self.heads = heads
        self.feedforward = feedforward
        self.dropout = dropout
        self.vocabulary = vocabulary
        self.fingerprint = fingerprint
        super().__init__(**kwargs)


class KanachanEncoder(PreTrainedModel):  # type: ignore[no-untyped-call]
    """Encodes situations: `last_hidden_state` [B, O, D] has vectors of the situation, its seats and its tiles;
    `pooler_output` [B, D] is the vector of the situation.

    Raises ValueError if the folder was exported for a vocabulary that this version of the program does not have.
    """

    config_class = KanachanConfig
    base_model_prefix = "encoder"
    main_input_name = "table"

    def __init__(self, config: KanachanConfig) -> None:
        super().__init__(config)
        self.vocabulary = exported_vocabulary("encoder", config.vocabulary, config.fingerprint)
        sizes: dict[str, Any] = {each.name: getattr(config, each.name, each.default) for each in fields(ModelConfig)}
        self.encoder = Encoder(ModelConfig(**sizes), TokenLayout(self.vocabulary))
        self.post_init()  # type: ignore[no-untyped-call]

    def _init_weights(self, module: nn.Module) -> None:
        """Does nothing: the encoder initialises its own weights."""

    def forward(
        self,
        table: Tensor,
        standing: Tensor,
        tiles: Tensor,
        numbers: Tensor,
        events: Tensor,
        groups: Tensor,
        seen: Tensor,
        return_dict: bool | None = None,
    ) -> BaseModelOutputWithPooling | tuple[Tensor, Tensor]:
        """Computes the outputs for inputs from `inputs_of`; `kanachan.data.batch.Batch` documents each input."""
        own_BOD = encoded(self.encoder, table, standing, tiles, numbers, events, groups, seen)
        if return_dict is False:
            return own_BOD, own_BOD[:, 0]
        return BaseModelOutputWithPooling(last_hidden_state=own_BOD, pooler_output=own_BOD[:, 0])

    def inputs_of(self, rows: Rows) -> dict[str, Tensor]:
        """Converts decisions to the keyword arguments of `forward`, in the same order, on the encoder's device.
        Decisions are annotation lines, or rows of a shard: a list of mappings, a mapping from columns to lists
        (`dataset[:100]` of `datasets`), or an Arrow record batch or table. Raises ValueError, with the number of the
        row (from 1) and the reason, if a row is not a decision."""
        inputs = inputs_of_rows(rows, self.vocabulary)
        return {name: inputs[name].to(self.device) for name in SITUATION_INPUTS}
