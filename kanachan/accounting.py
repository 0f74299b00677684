"""What training costs: the floating-point operations of a decision, by formula.

Shapes: B decisions, T tokens of a situation, A candidates.
"""

from collections.abc import Sequence

import torch

from kanachan.batch import Batch, TokenLayout
from kanachan.config import ModelConfig


def training_flops(model: ModelConfig, batches: Sequence[Batch]) -> float:
    """Floating-point operations to train on one decision, by formula; padding is no work.

    A multiplication and an addition for each weight and token, twice that again for the backward pass. With width D,
    feed-forward width M, a situation of T tokens and A candidates: an encoder block costs (4 D² + 2 D M) T weights and
    2 D T² of attention; a decoder block (4 D² + 2 D² + 2 D M) A, 2 D² T for keys and values, and 2 D A² + 2 D A T of
    attention. Embeddings, heads, norms and the optimiser are left out.
    """
    tokens_B = torch.cat([(batch.token_BT != TokenLayout.PAD).sum(dim=1) for batch in batches]).double()
    candidates_B = torch.cat([(batch.candidate_BA != 0).sum(dim=1) for batch in batches]).double()
    width, feedforward = model.width, model.feedforward
    encoder_B = (4 * width**2 + 2 * width * feedforward) * tokens_B + 2 * width * tokens_B**2
    decoder_B = (6 * width**2 + 2 * width * feedforward) * candidates_B + 2 * width**2 * tokens_B
    decoder_B += 2 * width * candidates_B * (candidates_B + tokens_B)
    multiplications_B = model.layers * encoder_B + model.decoder_layers * decoder_B
    return float(3 * 2 * multiplications_B.mean())
