// The possible actions of a decision with the networks' predictions, and the verdict.

function swatch(model) {
  return html('span', { class: `swatch ${colourOf(model)}` });
}

function modelButtons(selectModel) {
  return data.models.map((_, model) => {
    const about = { 'aria-pressed': model === state.model, title: unitOf(model), onclick: () => selectModel(model), 'data-focus': model };
    return html('button', about, swatch(model), modelName(model));
  });
}

function shownText(model, value) {
  return hasProbabilities(model) ? share(value) : signed(value, digitsOf(model));
}

function candidateTable(decision, model, selectModel, openTiles, isOpen = false) {
  const { shown } = decision.answers[model];
  const order = decision.candidates.map((_, i) => i);
  order.sort((a, b) => decision.plausible[b] - decision.plausible[a] || shown[b] - shown[a]);
  const columns = {
    hasShape: decision.candidates.some((candidate) => candidate.shanten !== null),
    hasDanger: decision.candidates.some((candidate) => candidate.danger !== null),
  };
  const heads = data.models.map((_, i) => {
    const about = { class: `value${i === model ? ' selected' : ''}`, title: unitOf(i), onclick: () => selectModel(i) };
    return html('th', about, swatch(i), modelName(i), html('small', {}, unitOf(i)));
  });
  const narrow = (title, text) => html('th', { class: 'shape', title }, text);
  const head = html('tr', {}, html('th', {}, t('candidates.action')), heads,
    columns.hasShape ? narrow(t('candidates.shape.about'), t('candidates.shape')) : null,
    columns.hasDanger ? narrow(t('candidates.danger.about'), t('candidates.danger')) : null);
  const rows = order.flatMap((index) => candidateRows(decision, index, model, columns, openTiles, isOpen));
  return [html('thead', {}, head), html('tbody', {}, rows)];
}

function candidateRows(decision, index, model, { hasShape, hasDanger }, openTiles, isListed) {
  const candidate = decision.candidates[index];
  const isPlayed = index === decision.chosen;
  const words = actionWords(candidate);
  const cells = decision.answers.map((answer, i) => valueCell(decision, answer, i, index, i === model));
  const isOpen = !isListed && state.opened.has(index) && candidate.ukeire_tiles !== null;
  const row = html('tr', { class: isPlayed ? 'played' : null, 'data-token': candidate.token },
    html('th', { scope: 'row', title: words, 'aria-label': isPlayed ? `${words} (${t('candidates.played')})` : words },
      html('span', { class: 'action' }, inlineTiles(candidate.tiles, 21), actionLabel(candidate),
        isPlayed ? html('span', { class: 'chip' }, t('candidates.played')) : null)),
    cells,
    hasShape ? shapeCell(candidate, isOpen, () => openTiles(index)) : null,
    hasDanger ? dangerCell(candidate.danger) : null);
  if (!isOpen) return [row];
  const width = 1 + cells.length + hasShape + hasDanger;
  return [row, html('tr', { class: 'accepted' }, html('td', { colspan: width }, html('div', {},
    tilesLeft(candidate.ukeire_tiles), ...comparison(candidate, isPlayed ? null : decision.candidates[decision.chosen]))))];
}

function valueCell(decision, answer, model, index, isSelected) {
  const isBest = answer.best === index;
  const isGrey = !hasProbabilities(model) && !decision.plausible[index];
  const kinds = ['value', isBest ? 'best' : null, isSelected ? 'selected' : null, isGrey ? 'grey' : null];
  const cell = html('td', { class: kinds.filter(Boolean).join(' '), title: isGrey ? t('candidates.grey') : null },
    html('span', { class: 'number' }, isBest ? '\u2605\u2009' : '', shownText(model, answer.shown[index])),
    meter(barShare(decision, model, index), model));
  if (answer.rank_probability) cell.append(rankStrip(answer.rank_probability[index]));
  return cell;
}

// Shanten and the number of tiles that improve the hand; a press shows the tiles.
function shapeCell(candidate, isOpen, open) {
  if (candidate.shanten === null) return html('td', { class: 'shape' });
  const discard = candidate.discard === null ? null : html('span', { class: 'then' }, '\u2192', inlineTiles([candidate.discard], 15));
  const text = [discard, shanten(candidate.shanten), html('b', {}, t('tiles', { number: candidate.ukeire }))];
  const furiten = candidate.furiten ? html('em', {}, t('hand.furiten')) : null;
  const about = { class: 'link', onclick: open, 'aria-expanded': isOpen, title: t('candidates.shape.about'), 'data-focus': `${state.decision} ${candidate.token}` };
  return html('td', { class: 'shape' }, html('button', about, text, furiten));
}

function tilesLeft(tiles) {
  return tiles.map(({ tile, left }) =>
    html('span', { class: 'tile-left', title: tileName(tile) }, inlineTiles([tile], 18), `\u00d7${left}`));
}

// The tiles that an action accepts and the action played does not, and vice versa.
function comparison(candidate, played) {
  if (!played?.ukeire_tiles) return [];
  const more = (one, other) => one.ukeire_tiles.filter(({ tile }) => !other.ukeire_tiles.some((each) => each.tile === tile));
  const part = (key, tiles) => (tiles.length ? [html('span', { class: 'lead' }, t(key)), ...tilesLeft(tiles)] : []);
  return [...part('candidates.gained', more(candidate, played)), ...part('candidates.lost', more(played, candidate))];
}

function dangerCell(danger) {
  if (danger === null) return html('td', { class: 'danger' });
  const level = danger < 0.03 ? 0 : danger < 0.08 ? 1 : danger < 0.15 ? 2 : 3;
  const title = `${t('candidates.danger')} ${share(danger)}${cameTrue('deal_in', danger)}`;
  return html('td', { class: `danger level-${level}`, title }, share(danger));
}

// The words for an action without the tile's name, as the tile is drawn next to them.
function shortWords(candidate) {
  const words = [candidate.kind === 'discard' ? null : t(`action.${candidate.kind}`)];
  words.push(candidate.tsumogiri ? t('mark.drawn') : null);
  return words.filter(Boolean).join(t('comma'));
}

function actionLabel(candidate) {
  const words = shortWords(candidate);
  return words ? html('span', { class: 'kind' }, words) : null;
}

function actionWords(candidate) {
  const tiles = candidate.tiles.map(tileName).join(' ');
  const words = [t(`action.${candidate.kind}`), tiles, candidate.tsumogiri ? t('mark.tsumogiri') : null];
  return words.filter(Boolean).join(' ');
}

function pictured(candidate) {
  const words = shortWords(candidate);
  const parts = [inlineTiles(candidate.tiles, 18), words ? html('span', {}, words) : null];
  return html('strong', { class: 'pictured', title: actionWords(candidate) }, parts);
}

function meter(length, model) {
  return svg('svg', { class: 'meter', viewBox: '0 0 100 6', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svg('rect', { class: 'track', width: 100, height: 6 }),
    svg('rect', { class: `fill ${colourOf(model)}`, width: (100 * length).toFixed(2), height: 6 }));
}

function rankStrip(probabilities) {
  let x = 0;
  const title = probabilities.map((p, rank) => `${placeName(rank)} ${share(p)}`).join(', ');
  return svg('svg', { class: 'rank-strip', viewBox: '0 0 100 5', preserveAspectRatio: 'none' }, svg('title', {}, title),
    probabilities.map((p, rank) => {
      const part = svg('rect', { class: `rank-${rank}`, x: x.toFixed(2), width: (100 * p).toFixed(2), height: 5 });
      x += 100 * p;
      return part;
    }));
}

// Compares the action played with the network's choice: how rare it is, or how much it cost.
function verdict(decision, model) {
  const { best, shown, loss } = decision.answers[model];
  const isProbability = hasProbabilities(model);
  const values = {
    played: pictured(decision.candidates[decision.chosen]),
    best: pictured(decision.candidates[best]),
    name: modelName(model),
    played_share: isProbability ? share(shown[decision.chosen]) : null,
    best_share: isProbability ? share(shown[best]) : null,
    cost: isProbability ? null : amountOf(model, loss),
  };
  const kind = isProbability ? 'rare' : 'cost';
  return phrase(best === decision.chosen ? `verdict.agrees.${kind}` : `verdict.${kind}`, values);
}

// Only the actions, for a choice before the networks' opinion is shown.
function guessTable(decision, guess) {
  const rows = decision.candidates.map((candidate, index) => html('tr', { 'data-token': candidate.token },
    html('th', { scope: 'row' }, html('button', { class: 'action', title: actionWords(candidate), onclick: () => guess(index) },
      inlineTiles(candidate.tiles, 21), actionLabel(candidate)))));
  return [html('tbody', {}, rows)];
}

function guessText(decision, guess, model) {
  const amount = shownText(model, decision.answers[model].shown[guess]);
  return phrase('guess.chosen', { action: pictured(decision.candidates[guess]), amount });
}

// The meaning of the bars of a column, and notes on the values.
function legend(model) {
  const bars = hasProbabilities(model)
    ? t('legend.probability', { name: modelName(model) })
    : t('legend.value', { unit: unitOf(model), scale: grouped(data.models[model].scale, digitsOf(model)) });
  const floor = file.policy_model === null ? null : t('legend.floor', { share: percent(file.floor) });
  return [bars, hasProbabilities(model) ? null : floor, t('legend.best')].filter(Boolean).join(' ');
}

function caveat(model) {
  const { caveat: text, caveat_kind: kind } = data.models[model];
  return kind ? known(`caveat.${kind}`, text) : (text ?? '');
}

// The state of the player's hand before the decision.
function handState({ shanten: number, waits, furiten }) {
  const parts = [html('span', { class: 'shanten' }, shanten(number))];
  if (waits.length) parts.push(t('hand.waits'), tilesLeft(waits));
  if (furiten) parts.push(html('em', {}, t('hand.furiten')));
  return parts.flat();
}
