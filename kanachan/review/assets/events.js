// The events between two decisions.

const CALLS = ['chi', 'pon', 'daiminkan', 'ankan', 'kakan'];

// One line of events: a wind for the seat, then its tiles. Other seats' draws are hidden unless hands are revealed.
function eventLine(events, table, isRevealed) {
  const isShown = (event) => event.type !== 'draw' || event.seat === data.seat || isRevealed;
  return events.filter(isShown).map((event) => eventItem(event, table));
}

function eventItem(event, table) {
  const seat = event.seat === undefined ? null : html('b', { class: event.seat === data.seat ? 'own' : null }, windOf(event.seat, table));
  const about = { class: `event ${event.type}`, role: 'img', title: eventWords(event), 'aria-label': eventWords(event) };
  return html('span', about, seat, eventParts(event));
}

function eventParts(event) {
  if (event.type === 'discard') {
    const tile = html('span', { class: event.tsumogiri ? 'just-drawn' : null }, inlineTiles([event.tile], 20));
    return [event.riichi ? t('action.riichi') : null, tile];
  }
  const tiles = [...(event.type === 'kakan' ? [] : event.own ?? []), event.tile].filter(Boolean);
  return [eventName(event), inlineTiles(tiles, 20)];
}

function eventName({ type, source, reason }) {
  if (type === 'win') return t(source === null ? 'action.tsumo' : 'action.ron');
  const key = { dora: 'event.dora', draw: 'event.draw', riichi: 'event.stick' }[type] ?? `action.${type}`;
  return known(key, known(`reason.${reason}`, t('ending.abort')));
}

function eventWords(event) {
  const name = event.seat === undefined ? null : playerName(event.seat);
  const how = event.type !== 'discard' ? null : t(event.tsumogiri ? 'mark.tsumogiri' : 'mark.tedashi');
  const tile = event.tile ?? event.own?.[0];
  return [name, eventName(event), tile ? tileName(tile) : null, how].filter(Boolean).join(' ');
}
