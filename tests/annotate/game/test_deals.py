"""Deals that agree with what a seat sees."""

import pytest

from annotate.game.deals import SeenDeal
from annotate.game.engine.table import Table
from annotate.game.tiles import TILE_OF_ID
from annotate.vocabulary import FOUR_PLAYERS as V
from tests.support.rounds import start_of_round, tiles

HAND = tuple(sorted(tile for tile in tiles("11340m067p12557z") if tile is not None))[:13]
NOT_DEALER = SeenDeal(dealer=2, seat=1, hand=HAND, drawn=None, indicator=TILE_OF_ID[135])
DEALER = SeenDeal(dealer=1, seat=1, hand=HAND, drawn=1, indicator=1)


def dealt(deal: SeenDeal, wall: list[int]) -> Table:
    return Table.of_round("tenhou", start_of_round(oya=deal.dealer), wall, V)


def of_kind(ids: list[int]) -> tuple[int, ...]:
    return tuple(sorted(TILE_OF_ID[tile] for tile in ids))


@pytest.mark.parametrize("deal", [NOT_DEALER, DEALER], ids=["not dealer", "dealer"])
def test_a_deal_has_the_own_tiles_and_the_indicator_and_every_tile_once(deal: SeenDeal) -> None:
    for wall in deal.walls(20, "a", V):
        assert sorted(wall) == list(range(136))
        table = dealt(deal, wall)
        seen = deal.hand if deal.drawn is None else (*deal.hand, deal.drawn)
        assert of_kind(table.hands[deal.seat]) == tuple(sorted(seen))
        assert [TILE_OF_ID[tile] for tile in table.turns[0].dora_indicators] == [deal.indicator]
        if deal.drawn is not None:
            assert table.turns[0].drawn is not None and TILE_OF_ID[table.turns[0].drawn] == deal.drawn


def test_the_other_hands_differ_between_deals_and_are_the_same_for_the_same_seed() -> None:
    walls = list(NOT_DEALER.walls(5, "a", V))
    assert len({of_kind(dealt(NOT_DEALER, wall).hands[0]) for wall in walls}) == 5
    assert walls[:3] == list(NOT_DEALER.walls(3, "a", V))
    assert walls != list(NOT_DEALER.walls(5, "b", V))
