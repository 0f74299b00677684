// The reviews in the file, and which part of them is shown.

let file;
let reviews;
let data;

const state = {
  decision: 0,
  ending: null, // the round whose end is shown, if any
  model: 0,
  threshold: 0,
  isRevealed: false, // whether the other seats' hands are shown
  isLong: false, // whether the whole list of differences is shown
  isHiding: false, // whether the opinion is hidden until an action is chosen
  guesses: new Map(), // the user's choices, by the address of the decision
  isScroll: false, // whether all decisions are listed below each other
  opened: new Set(), // the candidates whose tiles are shown
};

// Reads the reviews, which are compressed: their size is a tenth of their text's.
async function load() {
  const bytes = Uint8Array.from(atob(byId('data').textContent), (character) => character.charCodeAt(0));
  const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  file = await new Response(text).json();
  reviews = (file.reviews ?? [file]).map((review) => ({ ...file, ...review }));
  data = reviews[0];
  state.model = file.default_model;
  state.threshold = file.threshold;
}

// The side of the table at which a seat is, as seen from another seat: 0: the same seat, 1: right, 2: across, 3: left.
// With three players, nobody sits across.
function sideOf(seat, from, numSeats) {
  const relative = (seat - from + numSeats) % numSeats;
  return relative === numSeats - 1 ? 3 : relative;
}

function hasProbabilities(model) {
  return data.models[model].unit === 'probability';
}

function colourOf(model) {
  return `model-${model % 9}`;
}

// A network's name, by its prediction, in the language of the page.
function modelName(model) {
  const { stage, name } = data.models[model];
  const title = known(`stage.${stage}`, name);
  const isAlone = data.models.filter((one) => one.stage === stage).length === 1;
  return isAlone || title === name ? title : `${title} (${name})`;
}

function unitOf(model) {
  const { unit, stage } = data.models[model];
  return known(`unit.${unit === 'points' ? stage : unit}`, unit === 'points' ? t('unit.points') : unit);
}

// Enough digits to distinguish the candidates of most decisions.
function digitsOf(model) {
  const { scale } = data.models[model];
  return scale >= 50 ? 0 : scale >= 2 ? 1 : scale >= 0.2 ? 2 : 3;
}

function amountOf(model, value) {
  return t('amount', { amount: grouped(value, digitsOf(model)), unit: unitOf(model) });
}

// Whether the network prefers another action by at least the threshold.
function isDifferent(decision, model) {
  const answer = decision.answers[model];
  return answer.best !== decision.chosen && answer.gap >= state.threshold;
}

// The decisions that differ, the largest difference first.
function differences(model) {
  return data.models[model].worst.filter((i) => isDifferent(data.decisions[i], model));
}

// #17 is a decision, #end3 the end of a round; with several seats in the file #s2-17 and #s2-end3.
function addressOf({ decision, ending }) {
  const seat = reviews.length > 1 ? `s${data.seat}-` : '';
  return ending === null ? `#${seat}${decision + 1}` : `#${seat}end${ending + 1}`;
}

function placeOf(address) {
  const found = /^#(?:s(\d)-)?(end)?(\d+)$/.exec(address);
  if (!found) return null;
  const seat = found[1] === undefined ? data.seat : Number(found[1]);
  const number = Number(found[3]) - 1;
  return found[2] ? { seat, decision: null, ending: number } : { seat, decision: number, ending: null };
}
