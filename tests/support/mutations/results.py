"""Mutations of the results, to the order of rounds and games, and to the hidden field."""

from tests.support.mutations.mutations import FIRST, MIDST, TSUMO, Line, V, find, found_as, round_of

# Results


def of_tsumo(lines: list[Line]) -> list[int]:
    """The lines of a round that ends with a tsumo."""
    return round_of(lines, find(lines, lambda line: line.action == TSUMO))


@found_as("deltas")
def a_winner_gets_another_number_of_points(lines: list[Line]) -> int:
    found = of_tsumo(lines)
    for i in found:
        lines[i].results[1] += 100
    return found[-1]


@found_as("deltas")
def a_delta_is_no_multiple_of_a_hundred(lines: list[Line]) -> int:
    found = of_tsumo(lines)
    for i in found:
        lines[i].results[2] += 50
    return found[-1]


@found_as("round result")
def a_winner_is_taken_for_another(lines: list[Line]) -> int:
    found = of_tsumo(lines)
    for i in found:
        lines[i].results[0] = (lines[i].results[0] + 1) % V.num_seats
    return found[-1]


@found_as("round result")
def a_tsumo_is_taken_for_a_draw(lines: list[Line]) -> int:
    found = of_tsumo(lines)
    for i in found:
        lines[i].results[0] = 16
    return found[-1]


@found_as("results")
def a_result_changes_in_a_round(lines: list[Line]) -> int:
    index = find(lines, lambda line: len(line.progression) > 20)
    lines[index].results[0] = (lines[index].results[0] + 1) % V.num_round_results
    return index


@found_as("results")
def two_seats_have_the_same_rank(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.progression == [0])
    lines[index].results[5] = lines[index].results[6]
    return index


@found_as("results")
def the_own_rank_is_another_seats(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.progression == [0])
    lines[index].results[9] = (lines[index].results[9] + 1) % V.num_seats
    return index


@found_as("results")
def the_end_score_changes_between_rounds(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.progression == [0])
    for i in round_of(lines, index):
        lines[i].results[10] += 100
    return index


@found_as("results")
def the_first_has_less_than_the_mean(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.results[9] == 0)
    lines[index].results[10] = 1000
    return index


@found_as("end of game")
def the_end_scores_do_not_add_up(lines: list[Line]) -> int:
    for line in lines:
        if line.game == lines[0].game and line.results[9] == 0:
            line.results[10] += 100
    return max(i for i, line in enumerate(lines) if line.game == lines[0].game)


# The order


@found_as("round")
def the_wind_changes_in_a_round(lines: list[Line]) -> int:
    lines[50].exchange(FIRST["wind"], FIRST["wind"] + 1)
    return 50


@found_as("round")
def two_rounds_are_exchanged(lines: list[Line]) -> int:
    starts = [i for i, line in enumerate(lines) if line.progression == [0]][1:4]
    first, second = lines[starts[0] : starts[1]], lines[starts[1] : starts[2]]
    lines[starts[0] : starts[2]] = second + first
    return starts[0] + len(second)


@found_as("file")
def a_line_of_a_game_stands_elsewhere(lines: list[Line]) -> int:
    lines.append(lines.pop(MIDST))
    return len(lines) - 1


# The hidden field


@found_as("hand")
def a_hidden_hand_is_another(lines: list[Line]) -> int:
    index = find(lines, lambda line: 135 not in line.hidden and 134 not in line.hidden and 133 not in line.hidden)
    hand = [token for token in lines[index].hidden if token < 136]
    lines[index].hidden[len(hand) - 1] = 132
    return index


@found_as("hidden")
def two_tiles_of_the_wall_are_exchanged(lines: list[Line]) -> int:
    wall = lines[50].hidden
    place = next(p for p in range(len(wall) - 1, 0, -1) if wall[p] != wall[p - 1])
    wall[place - 1], wall[place] = wall[place], wall[place - 1]
    return 50


@found_as("hidden")
def a_tile_of_the_wall_is_missing(lines: list[Line]) -> int:
    lines[50].hidden.pop()
    return 50
