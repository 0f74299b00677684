// How a round ended: the final table, the hands with their yaku, and all players' points.

// The last decision of a round, with the table after the round's end: all hands open, no actions.
function decisionAtEnd(decision, { after, end }) {
  const table = structuredClone(decision.table);
  for (const event of after) {
    if (event.type === 'draw') table.left -= 1;
    else if (event.type === 'riichi') {
      table.scores[event.seat] -= 1000;
      table.deposits += 1;
    } else if (event.type === 'discard') table.rivers[event.seat].push({ ...event, called: false });
    else if (event.source !== undefined && CALLS.includes(event.type)) table.rivers[event.source].at(-1).called = true;
  }
  const { scores } = table;
  table.ranks = scores.map((own, seat) => scores.filter((other, i) => other > own || (other === own && i < seat)).length);
  table.hand = end.hands[table.seat].tiles;
  table.drawn = null;
  table.melds = end.hands.map((hand) => hand.melds);
  table.norths = end.hands.map((hand) => hand.norths);
  table.dora_indicators = end.dora_indicators;
  const hands = end.hands.map(({ tiles }) => ({ tiles, drawn: null }));
  return { ...decision, table, hands, candidates: [], answers: [], opponents: [], win: null };
}

// How a round ended: hands with their yaku, or who was tenpai; then all players' points.
function endingParts(round, table) {
  const { end } = round;
  const title = html('h2', {}, t('ending.title', { round: roundName(round) }));
  const what = end.wins.length
    ? end.wins.map((win) => winParts(win, end))
    : [html('p', { class: 'how' }, endingWords(round)), end.tenpai ? tenpaiParts(end) : null];
  const after = round.after.length && table
    ? html('p', { class: 'events' }, html('span', { class: 'lead' }, t('ending.after')), eventLine(round.after, table, true))
    : null;
  return [title, ...what.flat(), scoreTable(round), after].filter(Boolean);
}

// A sentence about the end of a round, without points.
function endingWords({ end }) {
  if (!end.wins.length) return known(`reason.${end.reason}`, t(end.type === 'draw' ? 'reason.exhaustive_draw' : 'ending.abort'));
  return end.wins.map(winWords).join(t('comma'));
}

function winWords({ seat, source }) {
  const winner = playerName(seat);
  return source === null ? t('ending.tsumo', { winner }) : t('ending.ron', { winner, loser: playerName(source) });
}

function winParts(win, end) {
  const numSeats = end.deltas.length;
  const hand = html('p', { class: 'won-hand' }, inlineTiles(win.hand, 24), inlineTiles([win.tile], 24),
    inlineMelds(win.melds, end.hands[win.seat].norths, win.seat, numSeats, 22));
  const dora = html('p', { class: 'dora' }, t('event.dora'), inlineTiles(end.dora_indicators, 18),
    win.ura_indicators.length ? [t('ending.ura'), inlineTiles(win.ura_indicators, 18)] : null);
  const yaku = html('ul', { class: 'yaku' }, win.yaku.map((one) =>
    html('li', {}, yakuName(one), html('span', {}, win.yakuman ? t('ending.yakuman') : t('ending.han', { han: one.han })))));
  const size = win.yakuman ? t('ending.yakuman') : t('ending.han_fu', { han: win.han, fu: win.fu });
  const worth = html('p', { class: 'worth' }, html('strong', {}, t('ending.points', { points: grouped(win.points) })), size);
  return [html('p', { class: 'how' }, winWords(win)), hand, dora, yaku, worth];
}

function tenpaiParts(end) {
  const rows = end.tenpai.flatMap((isTenpai, seat) => (isTenpai ? [seat] : []));
  if (!rows.length) return html('p', {}, t('ending.noten'));
  return rows.map((seat) => html('p', { class: 'won-hand' }, html('span', { class: 'lead' },
    t('ending.tenpai', { name: playerName(seat) })), inlineTiles(end.hands[seat].tiles, 22),
    inlineMelds(end.hands[seat].melds, end.hands[seat].norths, seat, end.deltas.length, 20)));
}

function scoreTable({ end }) {
  const heads = ['ending.player', 'ending.before', 'ending.change', 'ending.scores'];
  const rows = end.deltas.map((delta, seat) => html('tr', { class: seat === data.seat ? 'current' : null },
    html('th', { scope: 'row' }, playerName(seat)),
    html('td', {}, grouped(end.scores_before[seat])),
    html('td', { class: delta < 0 ? 'lost' : delta > 0 ? 'gained' : null }, delta ? signed(delta) : '0'),
    html('td', {}, grouped(end.scores_after[seat]))));
  return html('table', { class: 'scores' },
    html('thead', {}, html('tr', {}, heads.map((key) => html('th', {}, t(key))))), html('tbody', {}, rows));
}

function yakuName({ name, name_ja: japanese }) {
  if (language === 'ja') return japanese;
  return language === 'zh' ? (YAKU_IN_CHINESE[name] ?? japanese) : name;
}
