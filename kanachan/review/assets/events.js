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
  if (CALLS.includes(event.type)) {
    const tiles = event.tile && event.type !== 'kakan' ? [...event.own, event.tile] : event.tile ? [event.tile] : event.own;
    return [t(`action.${event.type}`), inlineTiles(tiles, 20)];
  }
  const key = { kita: 'action.kita', draw: 'event.draw', dora: 'event.dora' }[event.type];
  if (key) return [t(key), inlineTiles([event.tile], 20)];
  if (event.type === 'riichi') return [t('event.stick')];
  if (event.type === 'win') return [t(event.source === null ? 'action.tsumo' : 'action.ron'), inlineTiles([event.tile], 20)];
  return [known(`reason.${event.reason}`, t('ending.abort'))];
}

function eventWords(event) {
  const name = event.seat === undefined ? null : playerName(event.seat);
  const kind = { discard: 'action.discard', dora: 'event.dora', draw: 'event.draw', riichi: 'event.stick' }[event.type];
  const action = kind ? t(kind) : event.type === 'win' ? t(event.source === null ? 'action.tsumo' : 'action.ron') : null;
  const words = action ?? known(`action.${event.type}`, known(`reason.${event.reason}`, t('ending.abort')));
  const how = event.type !== 'discard' ? null : t(event.tsumogiri ? 'mark.tsumogiri' : 'mark.tedashi');
  const tile = event.tile ?? event.own?.[0];
  return [name, words, tile ? tileName(tile) : null, how].filter(Boolean).join(' ');
}
