// The course of the game for one network: the expected result before each decision, and below it each decision's loss.

const CHART = { curve: 150, losses: 56, left: 54, right: 12, top: 22, gap: 12 };
const RANK_STEPS = [0, 0.25, 0.5, 0.75, 1];

function chart(model, width, visit) {
  const predictions = data.decisions.map((decision) => decision.answers[model]);
  const hasCurve = predictions[0].expected !== null;
  const inner = width - CHART.left - CHART.right;
  const x = (i) => CHART.left + (inner * (i + 0.5)) / predictions.length;
  const curveBottom = CHART.top + (hasCurve ? CHART.curve : 0);
  const lossTop = curveBottom + (hasCurve ? CHART.gap : 0);
  const bottom = lossTop + CHART.losses;
  const parts = [];
  if (predictions[0].expected_ranks) parts.push(rankAreas(predictions, x, CHART.top, curveBottom, inner));
  else if (hasCurve) parts.push(pointsLine(predictions, x, CHART.top, curveBottom, inner));
  parts.push(lossBars(model, predictions, x, lossTop, bottom, inner / predictions.length));
  parts.push(roundMarks(x, bottom, inner / predictions.length));
  parts.push(svg('line', { class: 'cursor', 'data-inner': inner, y1: CHART.top - 4, y2: bottom }));
  const surface = svg('rect', { class: 'surface', x: CHART.left, y: 0, width: inner, height: bottom });
  const height = bottom + 4;
  const box = { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': courseTitle(model) };
  const picture = svg('svg', box, parts, surface);
  surface.addEventListener('click', (event) => {
    const at = event.clientX - picture.getBoundingClientRect().left - CHART.left;
    const decision = Math.max(0, Math.min(predictions.length - 1, Math.floor((at / inner) * predictions.length)));
    visit({ decision, ending: null });
  });
  return picture;
}

function moveCursor(where, decision) {
  const cursor = where.querySelector('.cursor');
  const x = CHART.left + (cursor.dataset.inner * (decision + 0.5)) / data.decisions.length;
  cursor.setAttribute('x1', x);
  cursor.setAttribute('x2', x);
}

function courseTitle(model) {
  const name = modelName(model);
  if (data.decisions[0].answers[model].expected_ranks) return t('course.ranks', { name });
  if (hasProbabilities(model)) return t('course.rare', { name });
  return t('course.expected', { name, unit: unitOf(model) });
}

function rankAreas(predictions, x, top, bottom, inner) {
  const y = (share) => top + (bottom - top) * share;
  const numRanks = predictions[0].expected_ranks.length;
  const below = predictions.map(() => 0);
  const parts = [];
  for (let rank = 0; rank < numRanks; rank++) {
    const upper = predictions.map((_, i) => `${x(i).toFixed(1)} ${y(below[i]).toFixed(1)}`);
    predictions.forEach((prediction, i) => { below[i] += prediction.expected_ranks[rank]; });
    const lower = predictions.map((_, i) => `${x(i).toFixed(1)} ${y(Math.min(1, below[i])).toFixed(1)}`).reverse();
    const outline = `M${[...upper, ...lower].join('L')}Z`;
    parts.push(svg('path', { class: `area rank-${rank}`, d: outline }));
    const first = predictions[0].expected_ranks[rank];
    const middle = y(below[0] - first / 2) + 4;
    if (first > 0.09) parts.push(svg('text', { class: 'area-name', x: x(0) + 5, y: middle }, placeName(rank)));
  }
  return svg('g', {}, parts, RANK_STEPS.map((share) => axis(percent(1 - share), y(share), inner)));
}

function pointsLine(predictions, x, top, bottom, inner) {
  const values = predictions.map((prediction) => prediction.expected);
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  const span = high - low || 1;
  const y = (value) => bottom - ((bottom - top) * (value - low)) / span;
  const path = values.map((value, i) => `${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join('L');
  const marks = [low, 0, high].filter((value, i, all) => i === 1 || Math.abs(y(value) - y(0)) > 14 || value === all[1]);
  const axes = [...new Set(marks)].map((value) => axis(value === 0 ? '0' : signed(Math.round(value)), y(value), inner));
  return svg('g', {}, axes, svg('path', { class: 'line', d: `M${path}` }));
}

function axis(text, y, inner) {
  return svg('g', { class: 'axis' },
    svg('line', { x1: CHART.left, x2: CHART.left + inner, y1: y, y2: y }),
    svg('text', { x: CHART.left - 6, y: y + 4 }, text));
}

// The cost of each choice, or how much more probable another choice was.
function lossBars(model, predictions, x, top, bottom, step) {
  const largest = Math.max(...predictions.map((prediction) => prediction.gap)) || 1;
  const bars = predictions.map((prediction, i) => {
    const height = ((bottom - top) * prediction.gap) / largest;
    const width = Math.max(1.5, Math.min(8, step * 0.7));
    const kind = isDifferent(data.decisions[i], model) ? 'loss-bar' : 'loss-bar small';
    return svg('rect', { class: kind, x: x(i) - width / 2, y: bottom - height, width, height });
  });
  const ground = { x1: x(0) - step / 2, x2: x(predictions.length - 1) + step / 2, y1: bottom, y2: bottom };
  const name = t(hasProbabilities(model) ? 'course.gap' : 'course.cost');
  return svg('g', {},
    svg('text', { class: 'axis-name', x: CHART.left - 6, y: (top + bottom) / 2 + 4 }, name),
    bars,
    svg('line', { ...ground, class: 'ground' }));
}

function roundMarks(x, bottom, step) {
  let free = 0;
  const rounds = data.rounds.filter((round) => round.decisions > 0);
  return svg('g', { class: 'rounds' }, rounds.map((round) => {
    const start = x(round.first) - step / 2;
    const isShown = start >= free;
    if (isShown) free = start + 36;
    return svg('g', {},
      svg('line', { x1: start, x2: start, y1: 6, y2: bottom }),
      svg('text', { x: start + 3, y: 14 }, isShown ? roundName(round, true) : ''));
  }));
}
