// The player's hand: above each tile, how good its discard is; below it, the networks that would discard it.

const HAND = { tile: 62, top: 846 };
const MELD_TILE = 48;
const BAR_HEIGHT = 42;
const NORTH_GAP = 36;

function ownHand(decision, model) {
  const { table } = decision;
  const melds = table.melds[table.seat];
  const widths = melds.map((one) => meldWidth(one, MELD_TILE));
  const norths = table.norths[table.seat];
  // Norths stand behind the place of the drawn tile, whether or not there is a drawn tile.
  const closed = table.hand.length * HAND.tile + (table.drawn || norths ? HAND.tile + 14 : 0);
  const aside = norths ? norths * MELD_TILE + NORTH_GAP : 0;
  const total = widths.reduce((sum, width) => sum + width + 14, closed + aside);
  let x = (BOARD.width - total) / 2;
  const places = table.hand.map((name, i) => ({ name, x: x + i * HAND.tile, isDrawn: false }));
  x += table.hand.length * HAND.tile;
  if (table.drawn) places.push({ name: table.drawn, x: x + 14, isDrawn: true });
  if (table.drawn || norths) x += HAND.tile + 14;
  const bottom = HAND.top + (HAND.tile * 4) / 3;
  const parts = places.map((place, i) => handTile(decision, model, place, discardsOf(decision, places, i)));
  melds.forEach((one, i) => {
    x += 14;
    parts.push(meld(one, table.seat, table.scores.length, x, bottom, MELD_TILE));
    x += widths[i];
  });
  if (norths) parts.push(setAside(norths, x + NORTH_GAP, bottom, MELD_TILE));
  // Several kans, or Norths, are wider than the table.
  return svg('g', { id: 'hand', transform: shrunk(total, BOARD.width - 16, BOARD.width / 2, HAND.top + 40) }, parts);
}

// The candidates that discard the tile at place i; the last of equal tiles in the hand represents all of them.
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
  if (discards.length && decision.answers.length) {
    const shares = discards.map((index) => barShare(decision, model, index));
    const length = hasProbabilities(model) ? shares.reduce((a, b) => a + b) : Math.max(...shares);
    const height = Math.max(1.5, length * BAR_HEIGHT);
    const bar = { x: place.x + 14, y: top - 5 - height, width: tile - 28, height, rx: 3 };
    parts.push(svg('rect', { ...bar, class: `bar ${colourOf(model)}` }));
  }
  if (discards.includes(decision.chosen)) {
    const frame = { x: place.x + 1.5, y: top + 1.5, width: tile - 3, height: high - 3, rx: 8 };
    parts.push(svg('rect', { ...frame, class: 'played' }));
  }
  const bests = decision.answers.flatMap((one, i) => (discards.includes(one.best) ? [i] : []));
  bests.forEach((i, k) => {
    const dot = { cx: place.x + tile / 2 + (k - (bests.length - 1) / 2) * 13, cy: top + high + 11, r: 5.5 };
    const title = svg('title', {}, t('mark.best_of', { name: modelName(i) }));
    parts.push(svg('circle', { ...dot, class: `dot ${colourOf(i)}` }, title));
  });
  return svg('g', { 'data-hand': place.name }, parts);
}

// Length of the bar of a candidate, 0 ... 1: its probability, or how close its value is to the best value.
function barShare(decision, model, index) {
  const { shown, best } = decision.answers[model];
  if (hasProbabilities(model)) return shown[index];
  if (!decision.plausible[index]) return 0;
  return Math.min(1, Math.max(0, 1 - (shown[best] - shown[index]) / data.models[model].scale));
}
