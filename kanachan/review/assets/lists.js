// The game as a whole: largest differences, figures by kind of decision, rounds.

// A link to a place in the review. A press goes there on this page; the address can be copied.
function linkTo(place, visit, about, ...children) {
  const follow = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    visit(place);
  };
  return html('a', { href: addressOf(place), onclick: follow, ...about }, ...children);
}

function worstItems(model, found, visit) {
  return found.map((index) => {
    const decision = data.decisions[index];
    const answer = decision.answers[model];
    const played = decision.candidates[decision.chosen];
    const best = decision.candidates[answer.best];
    const amount = hasProbabilities(model)
      ? [html('b', {}, share(answer.shown[decision.chosen])), ` / ${share(answer.shown[answer.best])}`]
      : [html('b', {}, `\u2212${grouped(answer.loss, digitsOf(model))}`)];
    const about = { 'data-decision': index, title: `${actionWords(played)} \u2192 ${actionWords(best)}` };
    return html('li', {}, linkTo({ decision: index, ending: null }, visit, about,
      html('span', { class: 'round-name' }, roundName(data.rounds[decision.round], true)),
      html('span', { class: 'pair' },
        inlineTiles(played.tiles, 18), actionLabel(played),
        html('span', { class: 'arrow' }, '\u2192'),
        inlineTiles(best.tiles, 18), actionLabel(best)),
      html('span', { class: 'amount' }, amount)));
  });
}

// The rating, and other figures of the whole game.
function figures(model) {
  const { rating, bad_moves: bad, bad_moves_per_100: rate, summary } = data.models[model];
  const [all] = summary;
  const found = differences(model).length;
  const card = (text, key) => html('div', { class: 'figure' }, html('b', {}, text), t(key));
  return [
    rating === null ? null : card(rating.toFixed(1), 'figure.rating'),
    card(percent(all.agreed / all.decisions, 1), 'figure.agreement'),
    card(t('figure.of', { number: found, all: all.decisions }), 'figure.differing'),
    bad === null ? card(costText(model, all.mean_loss), 'figure.cost') : card(t('figure.per_100', { number: bad, rate: rate.toFixed(1) }), 'figure.bad'),
  ].filter(Boolean);
}

function figuresNote(model) {
  const name = modelName(model);
  const differing = t('note.differing', { threshold: thresholdText(model) });
  const about = hasProbabilities(model) ? t('note.rating', { name }) : t('note.cost', { unit: unitOf(model) });
  return [about, scaleText(model), differing].filter(Boolean).join(' ');
}

// The place of the rating among the ratings of strong players.
function scaleText(model) {
  const { rating_scale: scale } = data.models[model];
  if (!scale) return null;
  const { mean, standard_deviation: deviation, games, percentile } = scale;
  return t('note.scale', { mean: mean.toFixed(1), deviation: deviation.toFixed(1), games, percentile });
}

function thresholdText(model) {
  if (hasProbabilities(model)) return t('amount', { amount: Math.round(100 * state.threshold), unit: t('unit.percentage') });
  return amountOf(model, state.threshold * data.models[model].scale);
}

function costText(model, loss) {
  return grouped(loss, digitsOf(model));
}

function summaryTable(model) {
  const isProbability = hasProbabilities(model);
  const names = ['summary.kind', 'summary.decisions', 'figure.agreement', isProbability ? 'summary.rare' : 'figure.cost'];
  const rows = data.models[model].summary.map((row) => html('tr', {},
    html('th', { scope: 'row' }, known(`kind.${row.kind}`, known(`action.${row.kind}`, ''))),
    html('td', {}, grouped(row.decisions)),
    html('td', {}, percent(row.agreed / row.decisions)),
    html('td', {}, isProbability ? percent(row.mean_probability) : costText(model, row.mean_loss))));
  return [html('thead', {}, html('tr', {}, names.map((name) => html('th', {}, t(name))))), html('tbody', {}, rows)];
}

// The rating of some decisions, computed like the rating of the whole game.
function ratingOf(decisions, model) {
  const shares = decisions.map(({ answers, chosen }) => answers[model].shown[chosen] / Math.max(...answers[model].shown));
  return (100 * shares.reduce((a, b) => a + b, 0)) / shares.length;
}

// The ratings of all players in the file, side by side.
function playersTable(model) {
  const rows = reviews.map((review) => {
    const { rating } = review.models[model];
    const differing = review.decisions.filter((decision) => isDifferent(decision, model)).length;
    return html('tr', { class: review.seat === data.seat ? 'current' : null },
      html('th', { scope: 'row' }, html('button', { class: 'link', 'data-focus': review.seat, onclick: () => switchTo(review.seat) }, seatName(review.seat))),
      hasProbabilities(model) ? html('td', {}, rating === null ? '' : rating.toFixed(1)) : null,
      html('td', {}, t('figure.of', { number: differing, all: review.decisions.length })));
  });
  const names = ['ending.player', hasProbabilities(model) ? 'figure.rating' : null, 'figure.differing'].filter(Boolean);
  return [html('thead', {}, html('tr', {}, names.map((name) => html('th', {}, t(name))))), html('tbody', {}, rows)];
}

function roundsTable(model, visit) {
  const rows = data.rounds.map((round, i) => {
    const decisions = data.decisions.slice(round.first, round.first + round.decisions);
    const found = decisions.filter((decision) => isDifferent(decision, model)).length;
    const isEmpty = decisions.length === 0;
    const name = roundName(round);
    const start = { decision: round.first, ending: null };
    const rating = isEmpty || !hasProbabilities(model) ? null : ratingOf(decisions, model).toFixed(1);
    return html('tr', {},
      html('th', { scope: 'row' }, isEmpty ? name : linkTo(start, visit, {}, name)),
      html('td', { class: 'words' }, linkTo({ decision: null, ending: i }, visit, {}, endingWords(round))),
      html('td', {}, round.deltas[data.seat] ? signed(round.deltas[data.seat]) : '0'),
      html('td', {}, isEmpty ? t('rounds.none') : t('figure.of', { number: found, all: decisions.length })),
      hasProbabilities(model) ? html('td', {}, rating ?? '') : null);
  });
  const names = ['rounds.round', 'rounds.ending', 'rounds.points', 'figure.differing'];
  if (hasProbabilities(model)) names.push('figure.rating');
  return [html('thead', {}, html('tr', {}, names.map((name) => html('th', {}, t(name))))), html('tbody', {}, rows)];
}
