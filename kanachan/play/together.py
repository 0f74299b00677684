"""Chooses how many games advance together in a process: enough to keep it busy, if the networks' caches have room."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from annotate.runtime.resources import free_memory
from annotate.vocabulary import Vocabulary
from kanachan.models.card import read_card
from kanachan.play.agent_spec import parse_agent

if TYPE_CHECKING:
    from kanachan.play.remote_network import ServerAddress

TOGETHER = 128
TOGETHER_WITH_PROGRAMS = 2
FIRST_SLOTS = 64
"""seats for which a cache initially has room; the number doubles as needed"""
_SHARE_FOR_CACHES = 0.7


def usual_together(
    players: Iterable[str], vocabulary: Vocabulary, *, use_bf16: bool = False, room: float = math.inf
) -> int:
    """Returns how many games advance together if no number is given. `room`: bytes that a process's caches may take.
    Raises ValueError if there is not even room for a few games."""
    specs = [parse_agent(player) for player in players]
    if any(spec.kind == "mjai" for spec in specs):
        return TOGETHER_WITH_PROGRAMS
    networks = {(spec.weights, spec.is_int8) for spec in specs if spec.weights}
    # int8 networks cache in fp32
    of_seat = sum(bytes_of_seat(path, vocabulary, use_bf16=use_bf16 and not is_int8) for path, is_int8 in networks)
    slots = 1 << (TOGETHER * vocabulary.num_seats - 1).bit_length()
    while slots * of_seat > room and slots >= FIRST_SLOTS:
        slots //= 2
    if slots < FIRST_SLOTS:
        raise ValueError(
            f"the networks cache at least {FIRST_SLOTS * of_seat / 1e9:.1f} GB in each process, but there is room for "
            f"{max(room, 0) / 1e9:.1f}: give fewer --processes, --precision bf16 or a smaller network"
        )
    return min(TOGETHER, slots // vocabulary.num_seats)


def bytes_of_seat(weights: str, vocabulary: Vocabulary, *, use_bf16: bool) -> int:
    """Returns the size in bytes of a seat's cached events: keys and values in all layers."""
    model = read_card(weights)["model"]
    num_layers = model["layers"] + model["decoder_layers"]
    return vocabulary.max_progression * 2 * model["width"] * num_layers * (2 if use_bf16 else 4)


def room_for_caches(kind: str, device: str, servers: "Sequence[ServerAddress]", num_processes: int) -> float:
    """Returns how many bytes the caches of one of several processes may take. `kind`: kind of the networks' device;
    `servers`: the servers that compute the networks; if there are none, each process computes them."""
    if servers:
        return _SHARE_FOR_CACHES * min(server.free for server in servers) / math.ceil(num_processes / len(servers))
    if kind == "cpu":
        return _SHARE_FOR_CACHES * free_memory() / num_processes
    # imports torch, which only networks need
    from kanachan.models.device import chosen_device
    from kanachan.models.kv_cache import free_bytes

    return _SHARE_FOR_CACHES * free_bytes(chosen_device(device, is_exact=True))
