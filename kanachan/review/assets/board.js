// The table from above, as the reviewed seat saw it, with this seat at the bottom.

const BOARD = { width: 920, height: 952 };
const MIDDLE = { x: 460, y: 428, half: 150 };
const RIVER = { tile: 47, high: (47 * 4) / 3, perRow: 6, rows: 3, top: MIDDLE.half + 15 };
const OTHERS = { tile: 38, from: 370, gap: 10, room: 528 };
const PLATE = { left: -444, top: 272, width: 262, height: 84 };

function board(decision, model, isRevealed) {
  const { table } = decision;
  const numSeats = table.scores.length;
  const seats = table.scores.map((_, relative) => (table.seat + relative) % numSeats);
  const turned = (seat, parts, more) => {
    const turn = -90 * sideOf(seat, table.seat, numSeats);
    return svg('g', { transform: `rotate(${turn} ${MIDDLE.x} ${MIDDLE.y})`, ...more }, parts);
  };
  const parts = [
    svg('rect', { class: 'felt', ...BOARD, rx: 16 }),
    middle(table),
    seats.map((seat) => plate(decision, seat, sideOf(seat, table.seat, numSeats))),
    seats.map((seat) => turned(seat, [river(table, seat, decision), riichiStick(table, seat)], { 'data-river': seat })),
    seats.map((seat) =>
      (seat === table.seat ? null : turned(seat, closedRow(decision, seat, isRevealed), { 'data-closed': seat }))),
    ownHand(decision, model),
  ];
  const box = { viewBox: `0 0 ${BOARD.width} ${BOARD.height}`, role: 'img', 'aria-label': inWords(table) };
  return svg('svg', box, parts.flat());
}

// Shown instead of the table for a round in which the seat had no decision.
function emptyBoard(round) {
  return svg('svg', { viewBox: `0 0 ${BOARD.width} ${BOARD.height}` },
    svg('rect', { class: 'felt', ...BOARD, rx: 16 }),
    svg('text', { class: 'round', x: MIDDLE.x, y: MIDDLE.y }, roundName(round)),
    svg('text', { class: 'counts', x: MIDDLE.x, y: MIDDLE.y + 40 }, t('rounds.none')));
}

function inWords(table) {
  const hand = table.hand.map(tileName).join(', ');
  return table.drawn ? t('board.hand_drawn', { hand, tile: tileName(table.drawn) }) : t('board.hand', { hand });
}

function middle(table) {
  const { x, y, half } = MIDDLE;
  const numSeats = table.scores.length;
  const scores = table.scores.map((score, seat) => {
    const side = sideOf(seat, table.seat, numSeats);
    // The seat across would read upside down.
    const turn = side === 2 ? 0 : -90 * side;
    const height = side === 2 ? y - half + 33 : y + half - 13;
    const place = { x, y: height, transform: `rotate(${turn} ${x} ${y})` };
    const text = `${windOf(seat, table)} ${grouped(score)}`;
    return svg('text', { ...place, class: seat === table.dealer ? 'score dealer' : 'score' }, text);
  });
  const indicators = [...table.dora_indicators, ...Array(Math.max(0, 5 - table.dora_indicators.length)).fill('back')];
  return svg('g', {},
    svg('rect', { class: 'middle', x: x - half, y: y - half, width: 2 * half, height: 2 * half, rx: 12 }),
    scores,
    svg('text', { class: 'round', x, y: y - 44 }, roundName({ ...table, honba: 0 })),
    svg('text', { class: 'counts', x, y: y - 14 }, t('board.sticks', { honba: table.honba, riichi: table.deposits })),
    svg('g', {}, indicators.map((name, i) => tileAt(name, x - 92 + i * 37, y, 36)), svg('title', {}, t('board.dora'))),
    svg('text', { class: 'counts', x, y: y + 78 }, t('board.left', { number: table.left })));
}

// The player's name and grade, in the free corner to the left of the player's river.
function plate(decision, seat, side) {
  const { table } = decision;
  const corner = [[0, 1], [1, 1], [1, 0], [0, 0]][side];
  const { left, top, width, height } = PLATE;
  const x = corner[0] ? MIDDLE.x - left - width : MIDDLE.x + left;
  const y = corner[1] ? MIDDLE.y + top : MIDDLE.y - top - height;
  const [anchor, at] = corner[0] ? ['end', x + width] : ['start', x];
  const player = data.players[seat];
  const name = player?.name ? shortened(player.name, 15) : relation(seat);
  const grade = gradeName(player?.grade);
  const rate = player?.rate ? `R${Math.round(player.rate)}` : null;
  const place = placeName(table.ranks[seat]);
  const about = [grade, rate].filter(Boolean).join(' ');
  const line = (text, row, kind) => svg('text', { class: kind, x: at, y: y + 24 + 27 * row, 'text-anchor': anchor }, text);
  return svg('g', { class: 'plate', 'data-plate': seat },
    line(name, 0, side === 0 ? 'name own' : 'name'),
    line([about, place].filter(Boolean).join(' \u00b7 '), 1, 'about'),
    line(mood(decision, seat), 2, 'mood'),
    svg('title', {}, [relation(seat), player?.name, about, place, ...chances(decision, seat)].filter(Boolean).join(', ')));
}

const isInRiichi = (decision, seat) => decision.table.rivers[seat].some((discard) => discard.riichi);
const estimates = (decision, seat) => (seat === decision.table.seat ? decision : decision.opponents.find((one) => one.seat === seat)) ?? {};

// Riichi, or the probability that the player wins the round.
function mood(decision, seat) {
  const win = estimates(decision, seat).win ?? null;
  return isInRiichi(decision, seat) ? t('action.riichi') : win === null ? '' : t('board.win', { share: share(win) });
}

// The chances of a player, and how often such chances came true.
function chances(decision, seat) {
  const { win = null, tenpai = null } = estimates(decision, seat);
  return [win === null ? null : `${t('board.win', { share: share(win) })}${cameTrue('win', win)}`,
    tenpai === null || isInRiichi(decision, seat) ? null : `${t('board.tenpai', { share: share(tenpai) })}${cameTrue('tenpai', tenpai)}`];
}

// Whether the decision is a reaction to the last discard, kan or North set aside, by the seat `seat`.
function isReactionTo(decision, seat) {
  return decision.candidates.some((candidate) => candidate.kind === 'skip') && decision.table.last_seat === seat;
}

function river(table, seat, decision) {
  const discards = table.rivers[seat];
  const isReaction = isReactionTo(decision, seat) && table.last_kind === 'discard';
  const tiles = [];
  let x = 0;
  discards.forEach((discard, i) => {
    const row = Math.min(Math.floor(i / RIVER.perRow), RIVER.rows - 1);
    if (i === row * RIVER.perRow) x = MIDDLE.x - (RIVER.perRow * RIVER.tile) / 2;
    const top = MIDDLE.y + RIVER.top + row * (RIVER.high + 3);
    const width = discard.riichi ? RIVER.high : RIVER.tile;
    const high = discard.riichi ? RIVER.tile : RIVER.high;
    const place = { x, y: top + RIVER.high - high, width, height: high, rx: 5 };
    const isLast = isReaction && i === discards.length - 1;
    const words = [tileName(discard.tile), t(discard.tsumogiri ? 'mark.tsumogiri' : 'mark.tedashi')];
    if (discard.riichi) words.push(t('action.riichi'));
    if (discard.called) words.push(t('mark.called'));
    tiles.push(svg('g', { class: discard.called ? 'called' : null, 'data-tile': discard.tile },
      (discard.riichi ? tileAside : tileAt)(discard.tile, x, discard.riichi ? top + RIVER.high : top, RIVER.tile),
      discard.tsumogiri ? svg('rect', { class: 'tsumogiri', ...place }) : null,
      isLast ? svg('rect', { class: 'framed', ...place }) : null,
      svg('title', {}, words.join(', '))));
    x += width;
  });
  return svg('g', {}, tiles);
}

function riichiStick(table, seat) {
  if (!table.rivers[seat].some((discard) => discard.riichi)) return null;
  const top = MIDDLE.y + MIDDLE.half + 3;
  return svg('g', {},
    svg('rect', { class: 'stick', x: MIDDLE.x - 70, y: top, width: 140, height: 9, rx: 3 }),
    svg('circle', { class: 'stick-dot', cx: MIDDLE.x, cy: top + 4.5, r: 3.2 }),
    svg('title', {}, t('action.riichi')));
}

// The hand of another seat, face down unless revealed, its melds and the Norths that it has set aside.
function closedRow(decision, seat, isRevealed) {
  const { table } = decision;
  const melds = table.melds[seat];
  const norths = table.norths[seat];
  const faceDown = { tiles: Array(13 - 3 * melds.length).fill('back'), drawn: null };
  const { tiles, drawn } = isRevealed ? decision.hands[seat] : faceDown;
  const isReaction = isReactionTo(decision, seat);
  const framed = isReaction ? table.last_meld : null;
  const widths = melds.map((one) => meldWidth(one, OTHERS.tile));
  const gap = drawn ? OTHERS.tile + 8 : 0;
  const closed = tiles.length * OTHERS.tile + gap;
  const aside = norths ? norths * OTHERS.tile + OTHERS.gap : 0;
  const total = widths.reduce((sum, width) => sum + width + OTHERS.gap, closed + aside);
  const top = MIDDLE.y + OTHERS.from;
  const bottom = top + (OTHERS.tile * 4) / 3;
  let x = MIDDLE.x - total / 2;
  const parts = [];
  for (const name of tiles) {
    parts.push(tileAt(name, x, top, OTHERS.tile));
    x += OTHERS.tile;
  }
  if (drawn) parts.push(tileAt(drawn, x + 8, top, OTHERS.tile));
  x += gap;
  melds.forEach((one, i) => {
    x += OTHERS.gap;
    parts.push(meld(one, seat, table.scores.length, x, bottom, OTHERS.tile, i === framed));
    x += widths[i];
  });
  if (norths) parts.push(setAside(norths, x + OTHERS.gap, bottom, OTHERS.tile, isReaction && table.last_kind === 'kita'));
  // With melds or Norths, a row at a side can be longer than the space between the plates.
  const room = sideOf(seat, table.seat, table.scores.length) === 2 ? BOARD.width : OTHERS.room;
  return svg('g', { transform: shrunk(total, room, MIDDLE.x, bottom) }, parts);
}
