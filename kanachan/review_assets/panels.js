// Numbers beside the table: candidates, largest losses, summary.

// How far the bar of a candidate goes, 0 ... 1. Values have one scale all game long: a tenth of the decisions spread wider.
function barShare(decision, model, index) {
  const { shown } = decision.answers[model];
  if (data.models[model].unit === 'probability') return shown[index];
  return Math.max(0, 1 - (Math.max(...shown) - shown[index]) / spreads[model]);
}

function spreadOf(model) {
  const spread = data.decisions.map(({ answers }) => Math.max(...answers[model].shown) - Math.min(...answers[model].shown));
  spread.sort((a, b) => a - b);
  return spread[Math.floor(0.9 * (spread.length - 1))] || 1;
}

function shownText(model, value) {
  return data.models[model].unit === 'probability' ? percent(value, 1) : signed(value, digitsOf(model));
}

// As many digits as tell the candidates of most decisions apart.
function digitsOf(model) {
  return spreads[model] >= 50 ? 0 : spreads[model] >= 2 ? 1 : 2;
}

function seatCards(table) {
  const numSeats = table.scores.length;
  return table.scores.map((score, seat) => {
    const isOwn = seat === table.seat;
    const wind = WINDS[(seat - table.dealer + numSeats) % numSeats];
    const where = ['', ' \u00b7 right', ' \u00b7 across', ' \u00b7 left'][(seat - table.seat + numSeats) % numSeats];
    const hasRiichi = table.rivers[seat].some((discard) => discard.riichi);
    return html('div', { class: isOwn ? 'seat own' : 'seat' },
      html('strong', {}, wind), html('span', { class: 'where' }, `seat ${seat}${where}`),
      html('span', { class: 'points' }, score.toLocaleString('en')),
      html('span', { class: 'standing' }, `${PLACES[table.ranks[seat]]} \u00b7 ${table.grades[seat]}`, hasRiichi ? html('em', {}, ' riichi') : null));
  });
}

function candidateTable(decision, model, selectModel) {
  const order = decision.candidates.map((_, i) => i);
  order.sort((a, b) => decision.answers[model].shown[b] - decision.answers[model].shown[a]);
  const head = html('tr', {}, html('th', {}, 'action'), data.models.map((one, i) => html('th', { class: i === model ? 'selected' : null, title: one.meaning, onclick: () => selectModel(i) },
    html('span', { class: `swatch model-${i % 6}` }), one.name)));
  const rows = order.map((index) => candidateRow(decision, index, model));
  return [html('thead', {}, head), html('tbody', {}, rows)];
}

function candidateRow(decision, index, model) {
  const candidate = decision.candidates[index];
  const isPlayed = index === decision.chosen;
  const cells = decision.answers.map((answer, i) => {
    const isBest = answer.best === index;
    const cell = html('td', { class: `value${isBest ? ' best' : ''}${i === model ? ' selected' : ''}` },
      meter(barShare(decision, i, index), i), html('span', { class: 'number' }, isBest ? '\u2605 ' : '', shownText(i, answer.shown[index])));
    if (answer.rank_probability) cell.append(rankStrip(answer.rank_probability[index]));
    return cell;
  });
  return html('tr', { class: isPlayed ? 'played' : null, 'data-token': candidate.token },
    html('th', { scope: 'row', title: candidate.words, 'aria-label': candidate.words }, html('span', { class: 'action' }, inlineTiles(candidate.tiles), label(candidate)), isPlayed ? html('span', { class: 'chip' }, 'played') : null),
    cells);
}

// The tile is drawn beside it, so that its name need not be said.
function shortWords(candidate) {
  const words = [candidate.kind === 'discard' ? null : candidate.kind, candidate.tsumogiri ? 'drawn' : null];
  return words.filter(Boolean).join(', ');
}

function meter(share, model) {
  return svg('svg', { class: 'meter', viewBox: '0 0 100 6', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svg('rect', { class: 'track', width: 100, height: 6 }),
    svg('rect', { class: `fill model-${model % 6}`, width: (100 * share).toFixed(2), height: 6 }));
}

function rankStrip(probabilities) {
  let x = 0;
  const title = probabilities.map((p, rank) => `${PLACES[rank]} ${percent(p, 1)}`).join(', ');
  return svg('svg', { class: 'rank-strip', viewBox: '0 0 100 5', preserveAspectRatio: 'none' }, svg('title', {}, title),
    probabilities.map((p, rank) => {
      const part = svg('rect', { class: `rank-${rank}`, x: x.toFixed(2), width: (100 * p).toFixed(2), height: 5 });
      x += 100 * p;
      return part;
    }));
}

function verdict(decision, model) {
  const answer = decision.answers[model];
  const played = decision.candidates[decision.chosen];
  const best = decision.candidates[answer.best];
  const parts = ['Played: ', pictured(played), '. '];
  if (answer.best === decision.chosen) return [...parts, `${data.models[model].name} agrees.`];
  const cost = data.models[model].unit === 'probability'
    ? ` (${percent(answer.shown[answer.best], 1)} against ${percent(answer.shown[decision.chosen], 1)}).`
    : `, ${signed(answer.loss, digitsOf(model)).slice(1)} points better.`;
  return [...parts, `${data.models[model].name}: `, pictured(best), cost];
}

function pictured(candidate) {
  const kind = candidate.kind === 'discard' ? `discard ${shortWords(candidate)}` : shortWords(candidate);
  return html('strong', { class: 'pictured', title: candidate.words }, kind, inlineTiles(candidate.tiles, 18));
}

function worstTitle(model) {
  return data.models[model].unit === 'probability' ? `Least likely choices (network ${data.models[model].name})` : `Largest losses (network ${data.models[model].name})`;
}

function worstItems(model, go) {
  return data.models[model].worst.map((index) => {
    const decision = data.decisions[index];
    const answer = decision.answers[model];
    const played = decision.candidates[decision.chosen];
    const best = decision.candidates[answer.best];
    const amount = data.models[model].unit === 'probability' ? percent(answer.shown[decision.chosen], 1) : signed(-answer.loss, digitsOf(model));
    return html('li', {}, html('button', { 'data-decision': index, title: `${played.words}; best: ${best.words}`, onclick: () => go(index) },
      html('span', { class: 'round-name' }, data.rounds[decision.round].name),
      html('span', { class: 'pair' }, inlineTiles(played.tiles, 18), label(played), html('span', { class: 'arrow' }, '\u2192'), inlineTiles(best.tiles, 18), label(best)),
      html('span', { class: 'amount' }, amount)));
  });
}

function label(candidate) {
  const words = shortWords(candidate);
  return words ? html('span', { class: 'kind' }, words) : null;
}

function summaryTable(model) {
  const { summary, unit } = data.models[model];
  const isProbability = unit === 'probability';
  const names = ['kind', 'decisions', 'agreement', ...(isProbability ? ['mean probability', 'mean \u2212log p'] : ['mean loss'])];
  const rows = summary.map((row) => html('tr', {}, html('th', { scope: 'row' }, row.kind), html('td', {}, row.decisions.toLocaleString('en')),
    html('td', {}, percent(row.agreed / row.decisions, 1)),
    isProbability ? html('td', {}, percent(row.mean_probability, 1)) : null,
    html('td', {}, row.mean_loss.toFixed(isProbability ? 3 : digitsOf(model)))));
  return [html('thead', {}, html('tr', {}, names.map((name) => html('th', {}, name)))), html('tbody', {}, rows)];
}

function roundsTable(model, go) {
  const isProbability = data.models[model].unit === 'probability';
  const rows = data.rounds.map((round) => {
    const answers = data.decisions.slice(round.first, round.first + round.decisions).map((decision) => decision.answers[model]);
    const mean = answers.reduce((sum, answer) => sum + answer.loss, 0) / answers.length;
    return html('tr', {},
      html('th', { scope: 'row' }, html('button', { class: 'link', onclick: () => go(round.first) }, round.name)),
      html('td', { class: 'words' }, round.result), html('td', {}, signed(round.deltas[data.seat])),
      html('td', {}, mean.toFixed(isProbability ? 3 : digitsOf(model))));
  });
  const names = ['round', 'how it ended', 'points', isProbability ? 'mean \u2212log p' : 'mean loss'];
  return [html('thead', {}, html('tr', {}, names.map((name) => html('th', {}, name)))), html('tbody', {}, rows)];
}
