"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const hidden = new Set();
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [420, 220, 52, 10, 8, 24];
const COLOURS = 8;

function element(name, attributes = {}, ...children) {
  const isSvg = ["svg", "path", "line", "text", "circle"].includes(name);
  const made = isSvg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function short(value) {
  const size = Math.abs(value);
  for (const [unit, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (size >= unit) return `${Number((value / unit).toPrecision(3))}${letter}`;
  }
  return size && size < 1e-3 ? value.toExponential(1) : `${Number(value.toPrecision(3))}`;
}

function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const found = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + 1e-9 * step; index++) found.push(index * step);
  return found;
}

function bounds(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
  const margin = (high - low) * 0.04 || Math.abs(high) * 0.1 || 1;
  return [low - margin, high + margin];
}

function draw(figure, panel) {
  const curves = panel.curves.filter((curve) => !hidden.has(curve.run) && curve.points.length);
  figure.hidden = curves.length === 0;
  if (figure.hidden) return;
  const points = curves.flatMap((curve) => curve.points);
  const right = Math.max(...curves.map((curve) => curve.points[curve.points.length - 1][0])) || 1;
  const [low, high] = bounds(points.map((point) => point[1]));
  const x = (value) => LEFT + (value / right) * (WIDTH - LEFT - RIGHT);
  const y = (value) => TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": panel.title });
  for (const value of ticks(low, high, 5)) {
    svg.append(element("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }));
    svg.append(element("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, short(value)));
  }
  for (const value of ticks(0, right, 4)) {
    svg.append(element("text", { x: x(value), y: HEIGHT - 7, "text-anchor": "middle" }, short(value)));
  }
  for (const curve of curves) {
    const kind = `run-${curve.run % COLOURS} ${curve.is_validation ? "validation" : ""}`;
    const line = curve.points.map(([a, b], index) => `${index ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`);
    svg.append(element("path", { class: kind, d: line.join("") }));
    if (curve.is_validation) {
      for (const [a, b] of curve.points) svg.append(element("circle", { class: kind, cx: x(a), cy: y(b), r: 2.4 }));
    }
  }
  const caption = element("figcaption");
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const at = (((event.clientX - box.x) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT) * right;
    const near = curves.map((curve) => [curve, curve.points.reduce((best, point) => (Math.abs(point[0] - at) < Math.abs(best[0] - at) ? point : best))]);
    caption.textContent = near.map(([curve, [a, b]]) => `${curve.label}: ${short(b)} at ${short(a)}`).join("; ");
  });
  const latest = curves.map((curve) => `${curve.label}: ${short(curve.points[curve.points.length - 1][1])}`);
  caption.textContent = latest.slice(0, 8).join("; ") + (latest.length > 8 ? "; …" : "");
  figure.replaceChildren(element("h3", {}, panel.title), svg, caption);
}

const drawn = [];
for (const [section, panels] of Object.entries(data.sections)) {
  const grid = element("div", { class: "panels" });
  for (const panel of panels) {
    const figure = element("figure");
    drawn.push([figure, panel]);
    grid.append(figure);
  }
  const details = element("details", { open: "" }, element("summary", {}, section), grid);
  document.getElementById("sections").append(details);
}
data.runs.forEach((run, number) => {
  const note = element("small", {}, ` ${run.stage}${run.ended ? "" : ", has not ended"}`);
  const button = element("button", { "aria-pressed": "true", type: "button" }, element("span", { class: `swatch run-${number % COLOURS}` }), run.name, note);
  button.addEventListener("click", () => {
    if (!hidden.delete(number)) hidden.add(number);
    button.setAttribute("aria-pressed", String(!hidden.has(number)));
    for (const [figure, panel] of drawn) draw(figure, panel);
  });
  document.getElementById("runs").append(button);
});
for (const [figure, panel] of drawn) draw(figure, panel);
