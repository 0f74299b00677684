// Draws the page and handles its controls.

function draw() {
  const decision = data.decisions[state.decision];
  const round = data.rounds[state.ending ?? decision.round];
  const isEnd = state.ending !== null;
  document.body.dataset.decision = state.decision;
  document.body.dataset.ending = isEnd ? state.ending : '';
  document.body.dataset.seat = data.seat;
  const names = [html('span', { class: 'wide' }, roundName(round)), html('span', { class: 'narrow' }, roundName({ ...round, honba: 0 }))];
  byId('place').replaceChildren(html('strong', {}, names), html('span', {}, isEnd
    ? t('place.end') : t('place.decision', { number: state.decision - round.first + 1, all: round.decisions })));
  drawTable(decision, round, isEnd);
  byId('decision').hidden = isEnd;
  byId('ending').hidden = !isEnd;
  if (isEnd) byId('ending').replaceChildren(...endingParts(round, round.decisions ? data.decisions[round.first].table : null));
  else drawDecision(decision);
  byId('replay').hidden = round.link === null;
  byId('replay').href = round.link ?? '';
  byId('previous').disabled = !isEnd && state.decision === 0 && decision.round === 0;
  byId('next').disabled = isEnd && state.ending === data.rounds.length - 1;
  byId('hands').setAttribute('aria-pressed', state.isRevealed);
  for (const part of ['worst', 'course', 'scroll']) byId(part).hidden = state.isHiding; // they show the opinion
  const drawn = [data.seat, state.model, state.threshold, state.isLong, state.isHiding, state.isRevealed, language].join();
  if (state.drawnGame !== drawn) drawGame();
  state.drawnGame = drawn;
  markCurrent();
}

function drawTable(decision, round, isEnd) {
  const shown = isEnd && round.decisions ? decisionAtEnd(decision, round) : decision;
  const picture = round.decisions ? board(isHidden() ? { ...shown, answers: [], chosen: -1 } : shown, state.model, state.isRevealed || isEnd) : emptyBoard(round);
  byId('board').replaceChildren(picture);
}

function drawDecision(decision) {
  const { model } = state;
  const events = eventLine(decision.since, decision.table, state.isRevealed);
  const lead = t(state.decision === data.rounds[decision.round].first ? 'since.start' : 'since');
  byId('since').replaceChildren(html('span', { class: 'lead' }, lead), ...events);
  byId('since').hidden = events.length === 0;
  byId('hand-state').replaceChildren(...handState(decision));
  byId('guess').replaceChildren(t(state.isHiding ? 'guess.stop' : 'guess.start'));
  byId('legend').hidden = isHidden();
  if (isHidden()) {
    byId('models').hidden = byId('caveat').hidden = true;
    byId('verdict').replaceChildren(t('guess.ask'));
    byId('verdict').classList.remove('differs');
    byId('candidates').replaceChildren(...guessTable(decision, guess));
    return;
  }
  redraw('models', modelButtons(selectModel));
  byId('models').hidden = data.models.length < 2;
  const guessed = state.isHiding ? guessText(decision, state.guesses.get(addressOf(state)), model) : [];
  byId('verdict').replaceChildren(...guessed, ' ', ...verdict(decision, model));
  byId('verdict').classList.toggle('differs', isDifferent(decision, model));
  byId('caveat').replaceChildren(caveat(model));
  byId('caveat').hidden = caveat(model) === '';
  redraw('candidates', candidateTable(decision, model, selectModel, openTiles));
  byId('legend').replaceChildren(legend(model));
}

// Draws the parts about the whole game.
function drawGame() {
  const { model } = state;
  const found = differences(model);
  byId('worst-title').replaceChildren(t(hasProbabilities(model) ? 'worst.rare' : 'worst.cost', { name: modelName(model) }));
  byId('worst-list').replaceChildren(...worstItems(model, state.isLong ? found : found.slice(0, NUM_WORST), visit));
  byId('worst-none').hidden = found.length > 0;
  byId('worst-more').hidden = found.length <= NUM_WORST;
  byId('worst-more').replaceChildren(t(state.isLong ? 'worst.fewer' : 'worst.all', { number: found.length }));
  byId('worst-note').replaceChildren(t(hasProbabilities(model) ? 'worst.note.rare' : 'worst.note.cost', { unit: unitOf(model) }));
  byId('threshold-text').replaceChildren(thresholdText(model));
  byId('figures').replaceChildren(...figures(model));
  byId('figures-note').replaceChildren(figuresNote(model));
  byId('players').hidden = reviews.length < 2;
  redraw('players-table', playersTable(model));
  byId('summary-table').replaceChildren(...summaryTable(model));
  byId('rounds-table').replaceChildren(...roundsTable(model, visit));
  byId('course-title').replaceChildren(courseTitle(model));
  drawChart();
  drawScroll();
}

function drawChart() {
  const course = byId('course');
  const width = Math.max(280, course.clientWidth - 2 * parseFloat(getComputedStyle(course).paddingLeft));
  byId('chart').replaceChildren(chart(state.model, width, visit));
  moveCursor(byId('chart'), state.decision);
}

function markCurrent() {
  const { decision, ending } = state;
  const round = ending ?? data.decisions[decision].round;
  for (const link of byId('worst-list').querySelectorAll('a')) {
    link.setAttribute('aria-current', ending === null && Number(link.dataset.decision) === decision);
  }
  byId('rounds-table').querySelectorAll('tbody tr').forEach((row, i) => row.classList.toggle('current', i === round));
  moveCursor(byId('chart'), decision);
}

// Draws the parts that depend only on the seat and the language.
function drawHeader() {
  translatePage();
  byId('title').replaceChildren(titleText());
  document.title = t('header.title', { name: titleText() });
  byId('about').replaceChildren(...headerParts());
  const rating = ratingText();
  byId('rating').hidden = rating === null;
  byId('rating').replaceChildren(rating ?? '');
  byId('seat').replaceChildren(...seatOptions());
  byId('seat').hidden = reviews.length < 2;
  byId('language').value = language;
  byId('marks').replaceChildren(...markRows());
  byId('keys').replaceChildren(...keyRows());
  byId('notes').replaceChildren(...notesOnRecord());
}

function isHidden() {
  return state.isHiding && state.ending === null && !state.guesses.has(addressOf(state));
}

function guess(index) {
  state.guesses.set(addressOf(state), index);
  draw();
}

function toggleGuessing() {
  state.isHiding = !state.isHiding;
  state.guesses.clear();
  draw();
}

function selectModel(model) {
  if (model >= data.models.length) return;
  state.model = model;
  draw();
}

function toggleHands() {
  state.isRevealed = !state.isRevealed;
  draw();
}

function openTiles(candidate) {
  if (!state.opened.delete(candidate)) state.opened.add(candidate);
  draw();
}

function switchTo(seat) {
  selectSeat(seat);
  drawHeader();
  go(0);
}

function listen() {
  const on = (id, kind, action) => byId(id).addEventListener(kind, action);
  on('previous', 'click', KEYS.ArrowLeft);
  on('next', 'click', KEYS.ArrowRight);
  on('previous-round', 'click', KEYS.ArrowUp);
  on('next-round', 'click', KEYS.ArrowDown);
  on('next-difference', 'click', KEYS.n);
  on('hands', 'click', toggleHands);
  on('show-ending', 'click', goEnding);
  on('guess', 'click', toggleGuessing);
  on('open-scroll', 'click', toggleScroll);
  on('open-help', 'click', KEYS['?']);
  on('close-help', 'click', () => byId('help').close());
  on('rating', 'click', () => byId('summary').scrollIntoView({ block: 'start' }));
  on('worst-more', 'click', () => { state.isLong = !state.isLong; draw(); });
  on('threshold', 'input', (event) => { state.threshold = event.target.valueAsNumber / 100; draw(); });
  on('seat', 'change', (event) => switchTo(Number(event.target.value)));
  on('language', 'change', (event) => { setLanguage(event.target.value); drawHeader(); draw(); });
  document.addEventListener('keydown', pressed);
  listenForSwipes(byId('board'));
  listenForPrinting();
  window.addEventListener('resize', drawChart);
  window.addEventListener('hashchange', () => {
    if (follow(location.hash)) {
      drawHeader();
      bringIntoView();
    }
  });
}

async function start() {
  await load();
  byId('threshold').value = Math.round(100 * state.threshold);
  document.body.style.setProperty('--networks', data.models.length);
  listen();
  drawHeader();
  if (!follow(location.hash)) go(0);
  else drawHeader();
}

const NUM_WORST = 12;
// The data follows this script, which can then tell that a file is cut off.
document.addEventListener('DOMContentLoaded', () =>
  start().catch((error) => document.body.replaceChildren(t('page.broken', { error }))));
