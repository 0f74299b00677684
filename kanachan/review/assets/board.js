// The table from above, as the seat under review saw it, in a square of 1000 with that seat below.

const MIDDLE = { x: 500, y: 466, half: 162 };
const RIVER = { tile: 52, high: (52 * 4) / 3, perRow: 6, rows: 3, top: MIDDLE.half + 14 };
const OTHERS = { tile: 38, from: 402 };
const HAND = { tile: 63, top: 914 };
const BOARD_HEIGHT = 1028;
const BAR_HEIGHT = 48;

function board(decision, model) {
  const table = decision.table;
  const numSeats = table.scores.length;
  const parts = [svg('rect', { class: 'felt', width: 1000, height: BOARD_HEIGHT, rx: 18 }), middle(table)];
  for (let relative = 0; relative < numSeats; relative++) {
    const seat = (table.seat + relative) % numSeats;
    const side = [river(table, seat, decision), riichiStick(table, seat)];
    if (relative > 0) side.push(closedRow(decision, seat));
    parts.push(svg('g', { transform: `rotate(${-90 * relative} ${MIDDLE.x} ${MIDDLE.y})`, 'data-river': seat }, side));
  }
  parts.push(ownHand(decision, model));
  return svg('svg', { viewBox: `0 0 1000 ${BOARD_HEIGHT}`, role: 'img', 'aria-label': inWords(table) }, parts);
}

function inWords(table) {
  const drawn = table.drawn ? `, drawn ${tileName(table.drawn)}` : '';
  return `Hand: ${table.hand.map(tileName).join(', ')}${drawn}`;
}

function middle(table) {
  const { x, y, half } = MIDDLE;
  const numSeats = table.scores.length;
  const scores = table.scores.map((score, seat) => {
    const relative = (seat - table.seat + numSeats) % numSeats;
    const wind = WINDS[(seat - table.dealer + numSeats) % numSeats][0];
    // The seat across would read upside down.
    const turn = relative === 2 ? 0 : -90 * relative;
    const height = relative === 2 ? y - half + 34 : y + half - 14;
    const place = { x, y: height, transform: `rotate(${turn} ${x} ${y})` };
    const text = `${wind} ${score.toLocaleString('en')}`;
    return svg('text', { ...place, class: seat === table.dealer ? 'score dealer' : 'score' }, text);
  });
  const indicators = [...table.dora_indicators, ...Array(Math.max(0, 5 - table.dora_indicators.length)).fill('back')];
  return svg('g', {},
    svg('rect', { class: 'middle', x: x - half, y: y - half, width: 2 * half, height: 2 * half, rx: 12 }),
    scores,
    svg('text', { class: 'round', x, y: y - 44 }, `${WINDS[table.wind]} ${table.dealer + 1}`),
    svg('text', { class: 'counts', x, y: y - 12 }, `honba ${table.honba} \u00b7 sticks ${table.deposits}`),
    indicators.map((name, i) => tileAt(name, x - 97 + i * 39, y + 2, 38)),
    svg('text', { class: 'counts', x, y: y + 84 }, `tiles left ${table.left}`));
}

// Whether the decision is a reaction to the last discard or kan, and this was the seat's.
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
    const words = [tileName(discard.tile), discard.tsumogiri ? 'just drawn' : 'from the hand'];
    if (discard.riichi) words.push('riichi');
    if (discard.called) words.push('called');
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
  const top = MIDDLE.y + MIDDLE.half + 2;
  return svg('g', {},
    svg('rect', { class: 'stick', x: MIDDLE.x - 70, y: top, width: 140, height: 9, rx: 3 }),
    svg('circle', { class: 'stick-dot', cx: MIDDLE.x, cy: top + 4.5, r: 3.2 }),
    svg('title', {}, 'riichi'));
}

function closedRow(decision, seat) {
  const { table } = decision;
  const melds = table.melds[seat];
  const framed = isReactionTo(decision, seat) ? table.last_meld : null;
  const numClosed = 13 - 3 * melds.length;
  const widths = melds.map((one) => meldWidth(one, OTHERS.tile));
  const total = numClosed * OTHERS.tile + widths.reduce((sum, width) => sum + width + 10, 0);
  const top = MIDDLE.y + OTHERS.from;
  let x = MIDDLE.x - total / 2;
  const parts = [];
  for (let i = 0; i < numClosed; i++, x += OTHERS.tile) parts.push(tileAt('back', x, top, OTHERS.tile));
  melds.forEach((one, i) => {
    x += 10;
    parts.push(meld(one, seat, table.scores.length, x, top + (OTHERS.tile * 4) / 3, OTHERS.tile, i === framed));
    x += widths[i];
  });
  return svg('g', {}, parts);
}

// A meld's tiles from left to right, without the called one, which `meld` adds on its side.
function meldTiles(one) {
  const own = one.own.map((name) => ({ name }));
  if (one.kind === 'ankan') return [{ name: 'back' }, own[0], own[1], { name: 'back' }];
  return own;
}

function meldWidth(one, tile) {
  return meldTiles(one).length * tile + (one.called === null ? 0 : (tile * 4) / 3);
}

// The called tile is first, in the middle or last, as it came from the left, from across or from the right. Of a kan
// that may be robbed the tile that was added to a pon is framed, or all tiles of a closed one.
function meld(one, seat, numSeats, left, bottom, tile, isFramed = false) {
  const tiles = meldTiles(one);
  if (one.called !== null) {
    const relative = (one.source - seat + numSeats) % numSeats;
    const place = relative === numSeats - 1 ? 0 : relative === 1 ? tiles.length : 1;
    tiles.splice(place, 0, { name: one.called, isAside: true });
  }
  let x = left;
  const high = (tile * 4) / 3;
  let frame = { x: left, y: bottom - high, width: tiles.length * tile, height: high };
  const parts = tiles.map(({ name, isAside }) => {
    const start = x;
    x += isAside ? high : tile;
    if (!isAside) return tileAt(name, start, bottom - high, tile);
    if (one.added === null) return tileAside(name, start, bottom, tile);
    frame = { x: start, y: bottom - 2 * tile, width: high, height: tile };
    return svg('g', {}, tileAside(name, start, bottom, tile), tileAside(one.added, start, bottom - tile, tile));
  });
  const border = isFramed ? svg('rect', { class: 'framed', ...frame, rx: 4 }) : null;
  return svg('g', { class: 'meld' }, parts, border, svg('title', {}, one.kind));
}

// Own hand ------------------------------------------------------------------------------------------------------------

function ownHand(decision, model) {
  const table = decision.table;
  const melds = table.melds[table.seat];
  const meldTile = 50;
  const widths = melds.map((one) => meldWidth(one, meldTile));
  const closed = table.hand.length * HAND.tile + (table.drawn ? HAND.tile + 16 : 0);
  let x = (1000 - widths.reduce((sum, width) => sum + width + 14, closed)) / 2;
  const places = table.hand.map((name, i) => ({ name, x: x + i * HAND.tile, isDrawn: false }));
  x += table.hand.length * HAND.tile;
  if (table.drawn) {
    places.push({ name: table.drawn, x: x + 16, isDrawn: true });
    x += HAND.tile + 16;
  }
  const parts = places.map((place, i) => handTile(decision, model, place, discardsOf(decision, places, i)));
  melds.forEach((one, i) => {
    x += 14;
    parts.push(meld(one, table.seat, table.scores.length, x, HAND.top + (HAND.tile * 4) / 3, meldTile));
    x += widths[i];
  });
  return svg('g', { id: 'hand' }, parts);
}

// The candidates that discard the tile at place i; of equal tiles in the hand the last one represents all.
function discardsOf(decision, places, i) {
  const { name, isDrawn } = places[i];
  if (!isDrawn && places[i + 1]?.name === name && !places[i + 1].isDrawn) return [];
  const isDiscard = (candidate) => ['discard', 'riichi'].includes(candidate.kind) && candidate.tiles[0] === name;
  const found = decision.candidates.flatMap((candidate, index) => (isDiscard(candidate) ? [index] : []));
  // The dealer's first discard is never marked as the drawn tile.
  const hasDrawn = found.some((index) => decision.candidates[index].tsumogiri);
  const isOnlyDrawn = !places.some((place) => place.name === name && !place.isDrawn);
  if (isDrawn) return found.filter((index) => decision.candidates[index].tsumogiri || (!hasDrawn && isOnlyDrawn));
  return found.filter((index) => !decision.candidates[index].tsumogiri);
}

function handTile(decision, model, place, discards) {
  const { tile, top } = HAND;
  const high = (tile * 4) / 3;
  const parts = [tileAt(place.name, place.x, top, tile), svg('title', {}, tileName(place.name))];
  if (discards.length) {
    const shares = discards.map((index) => barShare(decision, model, index));
    const share = hasProbabilities(model) ? shares.reduce((a, b) => a + b) : Math.max(...shares);
    const height = Math.max(1.5, share * BAR_HEIGHT);
    const bar = { x: place.x + 14, y: top - 5 - height, width: tile - 28, height, rx: 3 };
    parts.push(svg('rect', { ...bar, class: `bar ${colourOf(model)}` }));
  }
  if (discards.includes(decision.chosen)) {
    const frame = { x: place.x + 1.5, y: top + 1.5, width: tile - 3, height: high - 3, rx: 8 };
    parts.push(svg('rect', { ...frame, class: 'played' }));
  }
  const bests = decision.answers.flatMap((one, i) => (discards.includes(one.best) ? [i] : []));
  bests.forEach((i, k) => {
    const dot = { cx: place.x + tile / 2 + (k - (bests.length - 1) / 2) * 14, cy: top + high + 12, r: 5.5 };
    const title = svg('title', {}, `best of ${data.models[i].name}`);
    parts.push(svg('circle', { ...dot, class: `dot ${colourOf(i)}` }, title));
  });
  return svg('g', { 'data-hand': place.name }, parts);
}
