// Calls and kans, drawn as they lie on the table.

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
  return svg('g', { class: 'meld' }, parts, border, svg('title', {}, t(`action.${one.kind}`)));
}

// A meld that flows with text.
function inlineMeld(one, seat, numSeats, width = 24) {
  const size = { width: meldWidth(one, width), height: (one.added === null ? 4 / 3 : 2) * width };
  const box = { ...size, viewBox: `0 0 ${size.width} ${size.height}`, class: 'inline-tiles' };
  return svg('svg', box, meld(one, seat, numSeats, 0, size.height, width));
}
