// Calls, kans and Norths set aside, drawn as they lie on the table.

const NORTH = '4z';

// A meld's tiles from left to right, without the called tile, which `meld` adds, lying on its side.
function meldTiles(one) {
  const own = one.own.map((name) => ({ name }));
  if (one.kind === 'ankan') return [{ name: 'back' }, own[0], own[1], { name: 'back' }];
  return own;
}

function meldWidth(one, tile) {
  return meldTiles(one).length * tile + (one.called === null ? 0 : (tile * 4) / 3);
}

// The called tile is first, in the middle or last if it came from the left, from across or from the right. If a kan may
// be robbed, the tile added to a pon is framed, or all tiles of a closed kan.
function meld(one, seat, numSeats, left, bottom, tile, isFramed = false) {
  const tiles = meldTiles(one);
  if (one.called !== null) {
    const place = [null, tiles.length, 1, 0][sideOf(one.source, seat, numSeats)];
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
  return svg('g', { class: 'meld' }, parts, border, svg('title', {}, t(`action.${one.kind}`)));
}

// The Norths that a seat has set aside; the last one is framed if it may be won.
function setAside(number, left, bottom, tile, isFramed = false) {
  const top = bottom - (tile * 4) / 3;
  const last = { x: left + (number - 1) * tile, y: top, width: tile, height: (tile * 4) / 3 };
  return svg('g', { class: 'norths' },
    Array.from({ length: number }, (_, i) => tileAt(NORTH, left + i * tile, top, tile)),
    isFramed ? svg('rect', { class: 'framed', ...last, rx: 4 }) : null,
    svg('title', {}, t('mark.norths', { number })));
}

// Melds, and Norths set aside, that flow with text.
function inlineMelds(melds, norths, seat, numSeats, width) {
  const parts = melds.map((one) => inlineMeld(one, seat, numSeats, width));
  if (!norths) return parts;
  const about = { class: 'lead', title: t('mark.norths', { number: norths }) };
  return [...parts, html('span', about, t('action.kita'), ' ', inlineTiles(Array(norths).fill(NORTH), width))];
}

// A meld that flows with text.
function inlineMeld(one, seat, numSeats, width = 24) {
  const size = { width: meldWidth(one, width), height: (one.added === null ? 4 / 3 : 2) * width };
  const tiles = [...one.own, one.called, one.added].filter(Boolean).map(tileName);
  const words = `${t(`action.${one.kind}`)} ${tiles.join(', ')}`;
  const box = { ...size, viewBox: `0 0 ${size.width} ${size.height}`, class: 'inline-tiles', role: 'img', 'aria-label': words };
  return svg('svg', box, meld(one, seat, numSeats, 0, size.height, width));
}
