// The players, date and rules; the choice of seat and language; notes on the record.

function headerParts() {
  const { final, source } = data;
  const player = data.players[data.seat];
  const parts = [gradeName(player?.grade), player?.rate ? `R${Math.round(player.rate)}` : null, rulesText(source), source.date];
  const score = t('ending.points', { points: grouped(final.score) });
  parts.push(t(final.is_recorded ? 'header.ended' : 'header.last_seen', { place: placeName(final.rank), score }));
  if (final.grading_delta !== null) parts.push(t('header.grading', { points: signed(final.grading_delta) }));
  return parts.filter(Boolean).map((text) => html('span', {}, text));
}

function titleText() {
  if (data.players.some((player) => player.name)) return playerName(data.seat);
  return data.game;
}

// Each of Tenhou's rules is one character.
function rulesText({ platform, rules }) {
  const name = known(`platform.${platform}`, null);
  if (!rules) return [name, t(`style.${data.style}`)].filter(Boolean).join(' ');
  const words = platform === 'tenhou' && language !== 'ja' ? [...rules].map((sign) => known(`rule.${sign}`, sign)).join(t('comma')) : rules;
  return [name, words].filter(Boolean).join(' ');
}

function seatOptions() {
  return reviews.map((review) =>
    html('option', { value: review.seat, selected: review.seat === data.seat ? '' : null },
      seatName(review.seat)));
}

function seatName(seat) {
  return data.players[seat].name ?? t('header.seat', { number: seat });
}

function ratingText() {
  const rated = data.models.findIndex((model) => model.rating !== null);
  return rated < 0 ? null : t('header.rating', { rating: data.models[rated].rating.toFixed(1) });
}

// Reports of the record's reader are not translated.
function notesOnRecord() {
  const left = data.left_out.map((text) => t('notes.left_out', { text }));
  return [t('notes.record', { name: data.game }), ...left, ...data.notes].map((text) => html('li', {}, text));
}

// Sets the texts that never change, by attributes of the elements in review.html.
function translatePage() {
  document.documentElement.lang = { en: 'en', ja: 'ja', zh: 'zh-Hans' }[language];
  for (const element of document.querySelectorAll('[data-text]')) element.replaceChildren(t(element.dataset.text));
  for (const element of document.querySelectorAll('[data-title]')) {
    const text = t(element.dataset.title);
    element.title = text;
    if (!element.dataset.text) element.setAttribute('aria-label', text);
  }
}

// The marks on the table, each as a small picture.
function markRows() {
  const box = (...parts) => svg('svg', { viewBox: '0 0 60 80', width: 24, height: 32, class: 'inline-tiles' }, parts);
  const tile = () => tileAt('5p', 0, 0, 60);
  const rows = [
    [box(tile(), svg('rect', { class: 'tsumogiri', width: 60, height: 80, rx: 6 })), 'mark.tsumogiri'],
    [box(tileAt('0p', 0, 0, 60)), 'mark.red'],
    [box(svg('g', { class: 'called' }, tile())), 'mark.called'],
    [box(tileAside('5p', 0, 70, 45)), 'mark.riichi'],
    [box(tile(), svg('rect', { class: 'framed', x: 3, y: 3, width: 54, height: 74, rx: 6 })), 'mark.framed'],
    [box(svg('rect', { class: 'bar model-0', x: 16, y: 20, width: 28, height: 50, rx: 3 })), 'mark.bar'],
    [box(svg('circle', { class: 'dot model-0', cx: 30, cy: 40, r: 12 })), 'mark.dot'],
    [html('b', {}, '\u2605'), 'mark.best'],
  ];
  return rows.map(([picture, key]) => html('li', {}, html('span', { class: 'mark' }, picture), t(key)));
}

function keyRows() {
  const rows = [
    ['\u2190 \u2192, k j, Space', 'key.decision'],
    ['\u2191 \u2193', 'key.round'],
    ['n p', 'key.difference'],
    ['1 \u2026 9', 'key.network'],
    ['h', 'key.hands'],
    ['e', 'key.ending'],
    ['Home End', 'key.ends'],
    ['?', 'key.help'],
  ];
  return rows.map(([keys, key]) => html('li', {}, html('kbd', {}, keys), t(key)));
}
