// Numbers next to the table: candidates, largest losses, summary.

function hasProbabilities(model) {
  return data.models[model].unit === 'probability';
}

function colourOf(model) {
  return `model-${model % 6}`;
}

// A network's colour swatch and its name.
function named(model) {
  return [html('span', { class: `swatch ${colourOf(model)}` }), data.models[model].name];
}

// Length of the bar of a candidate, 0 ... 1. Values have one scale for the whole game; one decision in ten exceeds it.
function barShare(decision, model, index) {
  const { shown } = decision.answers[model];
  if (hasProbabilities(model)) return shown[index];
  return Math.max(0, 1 - (Math.max(...shown) - shown[index]) / spreads[model]);
}

function spreadOf(model) {
  const shown = data.decisions.map((decision) => decision.answers[model].shown);
  const spread = shown.map((values) => Math.max(...values) - Math.min(...values));
  spread.sort((a, b) => a - b);
  return spread[Math.floor(0.9 * (spread.length - 1))] || 1;
}

function shownText(model, value) {
  return hasProbabilities(model) ? percent(value, 1) : signed(value, digitsOf(model));
}

// Enough digits to distinguish the candidates of most decisions.
function digitsOf(model) {
  return spreads[model] >= 50 ? 0 : spreads[model] >= 2 ? 1 : 2;
}

function seatCards(table) {
  const numSeats = table.scores.length;
  return table.scores.map((score, seat) => {
    const isOwn = seat === table.seat;
    const wind = WINDS[(seat - table.dealer + numSeats) % numSeats];
    const where = ['', ' \u00b7 right', ' \u00b7 across', ' \u00b7 left'][(seat - table.seat + numSeats) % numSeats];
    const standing = `${PLACES[table.ranks[seat]]} \u00b7 ${table.grades[seat]}`;
    const hasRiichi = table.rivers[seat].some((discard) => discard.riichi);
    return html('div', { class: isOwn ? 'seat own' : 'seat' },
      html('strong', {}, wind), html('span', { class: 'where' }, `seat ${seat}${where}`),
      html('span', { class: 'points' }, score.toLocaleString('en')),
      html('span', { class: 'standing' }, standing, hasRiichi ? html('em', {}, ' riichi') : null));
  });
}

function candidateTable(decision, model, selectModel) {
  const order = decision.candidates.map((_, i) => i);
  order.sort((a, b) => decision.answers[model].shown[b] - decision.answers[model].shown[a]);
  const heads = data.models.map(({ meaning }, i) => {
    const about = { class: i === model ? 'selected' : null, title: meaning, onclick: () => selectModel(i) };
    return html('th', about, named(i));
  });
  const rows = order.map((index) => candidateRow(decision, index, model));
  return [html('thead', {}, html('tr', {}, html('th', {}, 'action'), heads)), html('tbody', {}, rows)];
}

function candidateRow(decision, index, model) {
  const candidate = decision.candidates[index];
  const isPlayed = index === decision.chosen;
  const cells = decision.answers.map((prediction, i) => {
    const isBest = prediction.best === index;
    const cell = html('td', { class: `value${isBest ? ' best' : ''}${i === model ? ' selected' : ''}` },
      meter(barShare(decision, i, index), i),
      html('span', { class: 'number' }, isBest ? '\u2605 ' : '', shownText(i, prediction.shown[index])));
    if (prediction.rank_probability) cell.append(rankStrip(prediction.rank_probability[index]));
    return cell;
  });
  return html('tr', { class: isPlayed ? 'played' : null, 'data-token': candidate.token },
    html('th', { scope: 'row', title: candidate.words, 'aria-label': candidate.words },
      html('span', { class: 'action' }, inlineTiles(candidate.tiles), label(candidate)),
      isPlayed ? html('span', { class: 'chip' }, 'played') : null),
    cells);
}

// Without the name of the tile, which is drawn next to it.
function shortWords(candidate) {
  const words = [candidate.kind === 'discard' ? null : candidate.kind, candidate.tsumogiri ? 'drawn' : null];
  return words.filter(Boolean).join(', ');
}

function meter(share, model) {
  return svg('svg', { class: 'meter', viewBox: '0 0 100 6', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svg('rect', { class: 'track', width: 100, height: 6 }),
    svg('rect', { class: `fill ${colourOf(model)}`, width: (100 * share).toFixed(2), height: 6 }));
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
  const prediction = decision.answers[model];
  const played = decision.candidates[decision.chosen];
  const best = decision.candidates[prediction.best];
  const parts = ['Played: ', pictured(played), '. '];
  if (prediction.best === decision.chosen) return [...parts, `${data.models[model].name} agrees.`];
  const cost = hasProbabilities(model)
    ? ` (${percent(prediction.shown[prediction.best], 1)} against ${percent(prediction.shown[decision.chosen], 1)}).`
    : `, ${signed(prediction.loss, digitsOf(model)).slice(1)} points better.`;
  return [...parts, `${data.models[model].name}: `, pictured(best), cost];
}

function pictured(candidate) {
  const kind = candidate.kind === 'discard' ? `discard ${shortWords(candidate)}` : shortWords(candidate);
  return html('strong', { class: 'pictured', title: candidate.words }, kind, inlineTiles(candidate.tiles, 18));
}

function worstTitle(model) {
  return `${hasProbabilities(model) ? 'Least likely choices' : 'Largest losses'} (network ${data.models[model].name})`;
}

function worstItems(model, go) {
  return data.models[model].worst.map((index) => {
    const decision = data.decisions[index];
    const prediction = decision.answers[model];
    const played = decision.candidates[decision.chosen];
    const best = decision.candidates[prediction.best];
    const amount = hasProbabilities(model) ? prediction.shown[decision.chosen] : -prediction.loss;
    const about = { 'data-decision': index, title: `${played.words}; best: ${best.words}`, onclick: () => go(index) };
    return html('li', {}, html('button', about,
      html('span', { class: 'round-name' }, data.rounds[decision.round].name),
      html('span', { class: 'pair' },
        inlineTiles(played.tiles, 18), label(played),
        html('span', { class: 'arrow' }, '\u2192'),
        inlineTiles(best.tiles, 18), label(best)),
      html('span', { class: 'amount' }, shownText(model, amount))));
  });
}

function label(candidate) {
  const words = shortWords(candidate);
  return words ? html('span', { class: 'kind' }, words) : null;
}

function summaryTable(model) {
  const isProbability = hasProbabilities(model);
  const names = ['kind', 'decisions', 'agreement', ...(isProbability ? ['mean probability'] : []), lossName(model)];
  const rows = data.models[model].summary.map((row) => html('tr', {},
    html('th', { scope: 'row' }, row.kind),
    html('td', {}, row.decisions.toLocaleString('en')),
    html('td', {}, percent(row.agreed / row.decisions, 1)),
    isProbability ? html('td', {}, percent(row.mean_probability, 1)) : null,
    html('td', {}, lossText(model, row.mean_loss))));
  return [html('thead', {}, html('tr', {}, names.map((name) => html('th', {}, name)))), html('tbody', {}, rows)];
}

function lossName(model) {
  return hasProbabilities(model) ? 'mean \u2212log p' : 'mean loss';
}

function lossText(model, loss) {
  return loss.toFixed(hasProbabilities(model) ? 3 : digitsOf(model));
}

function roundsTable(model, go) {
  const rows = data.rounds.map((round) => {
    const decisions = data.decisions.slice(round.first, round.first + round.decisions);
    const total = decisions.reduce((sum, decision) => sum + decision.answers[model].loss, 0);
    const isEmpty = decisions.length === 0;
    const name = isEmpty ? round.name : html('button', { class: 'link', onclick: () => go(round.first) }, round.name);
    return html('tr', {},
      html('th', { scope: 'row' }, name),
      html('td', { class: 'words' }, round.result),
      html('td', {}, signed(round.deltas[data.seat])),
      html('td', {}, isEmpty ? 'no decisions' : lossText(model, total / decisions.length)));
  });
  const names = ['round', 'how it ended', 'points', lossName(model)];
  return [html('thead', {}, html('tr', {}, names.map((name) => html('th', {}, name)))), html('tbody', {}, rows)];
}
