// Moves to decisions and ends of rounds: by keys, swipes, links and addresses.

function go(decision) {
  const last = data.decisions.length - 1;
  show({ decision: Math.max(0, Math.min(last, decision)), ending: null });
}

function show(place) {
  state.decision = place.decision ?? decisionBefore(place.ending);
  state.ending = place.ending;
  state.opened.clear();
  clearTimeout(state.remembering);
  state.remembering = setTimeout(remember, 300);
  draw();
}

// The last decision of a round or, if it has none, of the rounds before.
function decisionBefore(round) {
  const { first, decisions } = data.rounds[round];
  return Math.max(0, first + decisions - 1);
}

// Follows a link on the page; the browser's back button returns to the previous place.
function visit(place) {
  clearTimeout(state.remembering);
  try {
    history.replaceState(null, '', addressOf(state));
    history.pushState(null, '', addressOf(place));
  } catch {
    // Some browsers forbid this for pages from files.
  }
  show(place);
  bringIntoView();
}

// Scrolls so that table, hand and actions can be seen together, and gives the table the focus.
function bringIntoView() {
  const situation = byId('situation');
  const top = byId('bar').getBoundingClientRect();
  const covered = top.top <= 1 ? top.bottom : 0;
  const { y, bottom } = situation.getBoundingClientRect();
  if (y < covered || bottom > window.innerHeight) situation.scrollIntoView({ block: 'start' });
  situation.focus({ preventScroll: true });
}

// Writes the place into the address. Browsers limit how often this is possible.
function remember() {
  try {
    history.replaceState(null, '', addressOf(state));
  } catch {
    // The page then starts at its first decision.
  }
}

// Shows the place of an address; returns false if there is no such place on this page.
function follow(address) {
  const place = placeOf(address);
  const review = place && reviews.find((each) => each.seat === place.seat);
  if (!review || (place.ending !== null ? !review.rounds[place.ending] : !review.decisions[place.decision])) return false;
  selectSeat(place.seat);
  show(place);
  return true;
}

function selectSeat(seat) {
  if (seat === data.seat) return;
  data = reviews.find((review) => review.seat === seat);
  Object.assign(state, { decision: 0, ending: null, opened: new Set(), isLong: false, drawnGame: null });
}

// Moves through the decisions in turn, and after the last decision of a round to the round's end.
function step(by) {
  const { decision, ending } = state;
  const round = ending ?? data.decisions[decision].round;
  const { first, decisions } = data.rounds[round];
  const isAtEdge = ending === null ? decision === (by > 0 ? first + decisions - 1 : first) : by > 0 || decisions === 0;
  if (!isAtEdge) go(ending === null ? decision + by : first + decisions - 1);
  else if (ending === null && by > 0) show({ decision, ending: round });
  else if (data.rounds[round + by]) enter(round + by, by);
}

// Forwards, a round is entered at its first decision; backwards, at its end.
function enter(round, by) {
  if (by < 0 || data.rounds[round].decisions === 0) show({ decision: null, ending: round });
  else go(data.rounds[round].first);
}

function goRound(by) {
  const round = state.ending ?? data.decisions[state.decision].round;
  const { first } = data.rounds[round];
  const isInside = state.ending !== null || state.decision > first;
  // The first step back goes to the start of this round. Rounds without a decision are skipped.
  let target = by < 0 && isInside ? round : round + by;
  while (data.rounds[target]?.decisions === 0) target += by;
  if (target >= 0 && target < data.rounds.length) go(data.rounds[target].first);
  else if (target >= data.rounds.length) go(data.decisions.length - 1);
}

function goDifference(by) {
  const { first, decisions } = data.rounds[state.ending ?? 0];
  const next = state.ending === null ? state.decision + by : first + decisions - (by < 0 ? 1 : 0);
  for (let i = next; i >= 0 && i < data.decisions.length; i += by) {
    if (isDifferent(data.decisions[i], state.model)) return go(i);
  }
  return undefined;
}

function goEnding() {
  const round = data.decisions[state.decision].round;
  if (state.ending === null) show({ decision: null, ending: round });
  else go(decisionBefore(state.ending));
}

const KEYS = {
  ArrowLeft: () => step(-1),
  ArrowRight: () => step(1),
  k: () => step(-1),
  j: () => step(1),
  ArrowUp: () => goRound(-1),
  ArrowDown: () => goRound(1),
  PageUp: () => goRound(-1),
  PageDown: () => goRound(1),
  Home: () => go(0),
  End: () => go(data.decisions.length - 1),
  n: () => goDifference(1),
  p: () => goDifference(-1),
  h: () => toggleHands(),
  e: () => goEnding(),
  '?': () => byId('help').showModal(),
};

function pressed(event) {
  if (event.altKey || event.ctrlKey || event.metaKey || byId('help').open) return;
  if (event.target.closest?.('input, select')) return;
  const { key } = event;
  if (key === ' ') {
    // A focused button keeps its space.
    if (event.target.closest?.('button, summary, a')) return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
    return;
  }
  const action = KEYS[key] ?? (/^[1-9]$/.test(key) ? () => selectModel(key - 1) : null);
  if (!action) return;
  event.preventDefault();
  action();
}

// A swipe to the left goes forwards, and to the right backwards, like turning pages.
const SWIPE = { least: 45, slope: 1.6 };

function listenForSwipes(element) {
  let start = null;
  element.addEventListener('touchstart', (event) => {
    start = event.touches.length === 1 ? event.touches[0] : null;
  }, { passive: true });
  element.addEventListener('touchend', (event) => {
    if (!start) return;
    const x = event.changedTouches[0].clientX - start.clientX;
    const y = event.changedTouches[0].clientY - start.clientY;
    start = null;
    if (Math.abs(x) >= SWIPE.least && Math.abs(x) > SWIPE.slope * Math.abs(y)) step(x < 0 ? 1 : -1);
  });
}
