"""The number of players that readers of records support: four. Records of three are refused."""

from annotate.vocabulary import FOUR_PLAYERS

VOCABULARY = FOUR_PLAYERS
NUM_SEATS = VOCABULARY.num_seats
NUM_TILES = VOCABULARY.num_tile_ids
"""physical tiles of a wall"""
