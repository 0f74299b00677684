"""The network of the oracle critic: an encoder that sees hidden tokens, and one number for each seat.

Shapes: B decisions, X all own tokens and events concatenated, D width, S seats.
"""

from torch import Tensor, nn

from annotate.vocabulary import Vocabulary
from kanachan.config import ModelConfig
from kanachan.data.batch import Batch, TokenLayout
from kanachan.models.transformer import Encoder, attention_backend


class CriticNetwork(nn.Module):
    """Predicts a number of every seat, that of the actor first, from what all seats see together; before the first
    step, 0. Outputs of the head are multiplied by `scale`; `is_zero_sum`: the numbers of a decision add up to 0."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, *, scale: float, is_zero_sum: bool) -> None:
        super().__init__()
        self.scale = scale
        self.is_zero_sum = is_zero_sum
        self.encoder = Encoder(config, TokenLayout(vocabulary, hidden=True), vocabulary.max_progression)
        self.head = nn.Linear(config.width, vocabulary.num_seats)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, batch: Batch) -> Tensor:
        """Returns value_BS, counted from the actor; the batch must have hidden tokens."""
        backend = attention_backend(batch, uses_flex=self.encoder.uses_flex)
        encoded_XD = self.encoder(batch.table_BS, batch.standing_BP2, batch.numeric_BN, backend)
        value_BS = self.head(backend.summary(encoded_XD)).float()
        if self.is_zero_sum:
            value_BS = value_BS - value_BS.mean(dim=1, keepdim=True)
        return self.scale * value_BS
