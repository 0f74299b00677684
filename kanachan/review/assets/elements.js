// Elements from tag, attributes and children. Texts become text nodes, so they are never interpreted as markup.

const SVG = 'http://www.w3.org/2000/svg';

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function html(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function byId(id) {
  return document.getElementById(id);
}

// Replaces the children of an element. If one with `data-focus` had the focus, its successor has it.
function redraw(id, children) {
  const { focus } = byId(id).contains(document.activeElement) ? document.activeElement.dataset : {};
  byId(id).replaceChildren(...children);
  if (focus) byId(id).querySelector(`[data-focus="${focus}"]`)?.focus({ preventScroll: true });
}

// The transform that shrinks a row to its available width around a fixed point (x, y); null for a row that fits.
function shrunk(width, room, x, y) {
  return width > room ? `translate(${x} ${y}) scale(${room / width}) translate(-${x} -${y})` : null;
}

// Tiles are 3 wide and 4 high.
function tileAt(name, x, y, width) {
  return svg('use', { href: `#tile-${name}`, x, y, width, height: (width * 4) / 3 });
}

// A tile lying on its side, its long edge from x to the right, its lower edge at `bottom`.
function tileAside(name, x, bottom, width) {
  return svg('g', { transform: `translate(${x} ${bottom}) rotate(-90)` }, tileAt(name, 0, 0, width));
}

// A row of upright tiles that flows with text, and is read as their names.
function inlineTiles(names, width = 24) {
  if (!names.length) return null;
  const size = { width: names.length * width, height: (width * 4) / 3 };
  const box = { ...size, viewBox: `0 0 ${size.width} ${size.height}`, class: 'inline-tiles', role: 'img', 'aria-label': names.map(tileName).join(', ') };
  return svg('svg', box, names.map((name, i) => tileAt(name, i * width, 0, width)));
}
