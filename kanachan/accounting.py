"""What training costs: the floating-point operations of a decision, by formula.

Shapes as in kanachan.batch.
"""

from collections.abc import Sequence

from kanachan.batch import Batch, TokenLayout
from kanachan.config import ModelConfig


def training_flops(model: ModelConfig, batches: Sequence[Batch]) -> float:
    """Floating-point operations to train on one decision, by formula; padding is no work.

    A multiplication and an addition for each weight and token, twice that again for the backward pass. With width D,
    feed-forward width M, a situation of O own tokens that sees V in all and has A candidates, a group of E events: an
    encoder block costs (4 D² + 2 D M) (O + E) weights and 2 D (O V + E²) of attention; a decoder block
    (6 D² + 2 D M) A, 2 D² (O + E) for keys and values, and 2 D A (A + V) of attention. Embeddings, heads, norms and the
    optimiser are left out.
    """
    multiplications = sum(_multiplications(model, batch) for batch in batches)
    return 3 * 2 * multiplications / sum(map(len, batches))


def _multiplications(model: ModelConfig, batch: Batch) -> float:
    own_B = 1 + batch.standing_BP2.shape[1] + (batch.tile_BT != TokenLayout.PAD).sum(dim=1).double()
    visible_B = own_B + batch.seen_B
    events_G = (batch.event_GE != TokenLayout.PAD).sum(dim=1).double()
    candidates_B = (batch.candidate_BA != 0).sum(dim=1).double()
    tokens = float(own_B.sum() + events_G.sum())
    width, feedforward = model.width, model.feedforward
    encoder = (4 * width**2 + 2 * width * feedforward) * tokens
    encoder += 2 * width * float((own_B * visible_B).sum() + (events_G**2).sum())
    decoder = (6 * width**2 + 2 * width * feedforward) * float(candidates_B.sum()) + 2 * width**2 * tokens
    decoder += 2 * width * float((candidates_B * (candidates_B + visible_B)).sum())
    return model.layers * encoder + model.decoder_layers * decoder
