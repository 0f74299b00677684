// The selected decision and network, and the drawing of the page.

const data = JSON.parse(byId('data').textContent);
const spreads = data.models.map((_, model) => spreadOf(model));
const state = { decision: 0, model: 0, remembering: null, drawnModel: null };

function go(decision) {
  state.decision = Math.max(0, Math.min(data.decisions.length - 1, decision));
  clearTimeout(state.remembering);
  state.remembering = setTimeout(remember, 300);
  draw();
}

// Writes the decision into the address. Browsers limit how often, and some forbid it for pages from files.
function remember() {
  try {
    history.replaceState(null, '', `#${state.decision + 1}`);
  } catch {
    // The page then starts at its first decision.
  }
}

function goRound(step) {
  const { round } = data.decisions[state.decision];
  const first = data.rounds[round].first;
  // The first step back goes to the start of this round. Rounds without a decision are skipped.
  let target = step < 0 && state.decision > first ? round : round + step;
  while (data.rounds[target]?.decisions === 0) target += step;
  if (target >= 0 && target < data.rounds.length) go(data.rounds[target].first);
  else if (target >= data.rounds.length) go(data.decisions.length - 1);
}

function goDifference(step) {
  for (let i = state.decision + step; i >= 0 && i < data.decisions.length; i += step) {
    const decision = data.decisions[i];
    if (decision.answers[state.model].best !== decision.chosen) return go(i);
  }
  return undefined;
}

function selectModel(model) {
  if (model >= data.models.length) return;
  state.model = model;
  draw();
}

const KEYS = {
  ArrowLeft: () => go(state.decision - 1),
  ArrowRight: () => go(state.decision + 1),
  ArrowUp: () => goRound(-1),
  ArrowDown: () => goRound(1),
  PageUp: () => goRound(-1),
  PageDown: () => goRound(1),
  Home: () => go(0),
  End: () => go(data.decisions.length - 1),
  n: () => goDifference(1),
  p: () => goDifference(-1),
};

function pressed(event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const action = KEYS[event.key] ?? (/^[1-9]$/.test(event.key) ? () => selectModel(event.key - 1) : null);
  if (!action) return;
  event.preventDefault();
  action();
}

function draw() {
  const decision = data.decisions[state.decision];
  const round = data.rounds[decision.round];
  const { model } = state;
  document.body.dataset.decision = state.decision;
  byId('place').replaceChildren(html('strong', {}, round.name),
    html('span', {}, ` ${state.decision - round.first + 1}/${round.decisions}`),
    html('span', { class: 'of-all' }, ` \u00b7 ${state.decision + 1} of ${data.decisions.length}`));
  byId('seats').replaceChildren(...seatCards(decision.table));
  byId('board').replaceChildren(board(decision, model));
  byId('models').replaceChildren(...data.models.map(({ meaning }, i) => {
    const about = { 'aria-pressed': i === model, title: meaning, onclick: () => selectModel(i) };
    return html('button', about, named(i));
  }));
  byId('verdict').replaceChildren(...verdict(decision, model));
  byId('candidates').replaceChildren(...candidateTable(decision, model, selectModel));
  const { name, meaning } = data.models[model];
  byId('legend').replaceChildren(`${name}: ${meaning}. \u2605 and dots under the hand: best action of a network.`);
  byId('previous').disabled = state.decision === 0;
  byId('next').disabled = state.decision === data.decisions.length - 1;
  if (state.drawnModel !== model) drawGame();
  markCurrent();
}

// Draws what concerns the whole game; needed only when another network is selected.
function drawGame() {
  const { model } = state;
  state.drawnModel = model;
  byId('worst-title').replaceChildren(worstTitle(model));
  byId('worst-list').replaceChildren(...worstItems(model, go));
  byId('summary-table').replaceChildren(...summaryTable(model));
  byId('rounds-table').replaceChildren(...roundsTable(model, go));
  byId('course-title').replaceChildren(courseTitle(model));
  drawChart();
}

function drawChart() {
  const course = byId('course');
  const width = Math.max(280, course.clientWidth - 2 * parseFloat(getComputedStyle(course).paddingLeft));
  byId('chart').replaceChildren(chart(state.model, width, go));
  markCurrent();
}

function markCurrent() {
  const { decision } = state;
  const { round } = data.decisions[decision];
  for (const button of byId('worst-list').querySelectorAll('button')) {
    button.setAttribute('aria-current', Number(button.dataset.decision) === decision);
  }
  byId('rounds-table').querySelectorAll('tbody tr').forEach((row, i) => row.classList.toggle('current', i === round));
  moveCursor(byId('chart'), decision);
}

function drawHeader() {
  const { final, models } = data;
  byId('title').append(data.game);
  const grading = final.grading_delta === null ? '' : `, grading points ${signed(final.grading_delta)}`;
  const overall = models.map((one) => `${one.name} ${percent(one.summary[0].agreed / one.summary[0].decisions, 1)}`);
  const score = final.score.toLocaleString('en').replace('-', '\u2212');
  byId('about').append(`Seat ${data.seat}, ${data.room} Room, ${data.style}. `,
    `${final.is_recorded ? 'Ended' : 'Last seen'} ${PLACES[final.rank]} with ${score} points${grading}. `,
    html('span', { class: 'overall' }, `Agreement: ${overall.join(', ')}.`));
  const warnings = [...data.left_out.map((text) => `Left out: ${text}`), ...data.notes.map((text) => `Note: ${text}`)];
  byId('warnings').append(...warnings.map((text) => html('li', {}, text)));
  byId('warnings').hidden = warnings.length === 0;
}

byId('previous').addEventListener('click', KEYS.ArrowLeft);
byId('next').addEventListener('click', KEYS.ArrowRight);
byId('previous-round').addEventListener('click', KEYS.ArrowUp);
byId('next-round').addEventListener('click', KEYS.ArrowDown);
byId('next-difference').addEventListener('click', KEYS.n);
document.addEventListener('keydown', pressed);
window.addEventListener('resize', drawChart);
drawHeader();
go(Number.parseInt(location.hash.slice(1), 10) - 1 || 0);
