// A list of decisions: all of them on demand; when the page is printed, the decisions that differ.

function scrollItems(indices, model) {
  return indices.map((index) => {
    const decision = data.decisions[index];
    const round = data.rounds[decision.round];
    const place = t('place.decision', { number: index - round.first + 1, all: round.decisions });
    return html('article', { 'data-decision': index },
      html('h3', {}, linkTo({ decision: index, ending: null }, visit, {}, roundName(round)), ' ', place),
      html('div', { class: 'small-board' }, board(decision, model, state.isRevealed)),
      html('div', {},
        html('p', { class: isDifferent(decision, model) ? 'verdict differs' : 'verdict' }, ...verdict(decision, model)),
        html('div', { class: 'scrolling' },
          html('table', { class: 'candidates' }, ...candidateTable(decision, model, selectModel, () => {}, true)))));
  });
}

function drawScroll() {
  const indices = data.decisions.map((_, index) => index);
  byId('open-scroll').replaceChildren(t(state.isScroll ? 'scroll.close' : 'scroll.open', { number: indices.length }));
  byId('scroll-list').replaceChildren(...(state.isScroll ? scrollItems(indices, state.model) : []));
}

function toggleScroll() {
  state.isScroll = !state.isScroll;
  drawScroll();
}

// Prints the list of differences in the order of play, each with its table.
function listenForPrinting() {
  window.addEventListener('beforeprint', () => {
    const found = differences(state.model).sort((a, b) => a - b);
    byId('scroll-list').replaceChildren(...scrollItems(found, state.model));
  });
  window.addEventListener('afterprint', drawScroll);
}
