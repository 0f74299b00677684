// Texts and names in the language of the page. All texts are in `TEXTS` (texts.js), in the order of `LANGUAGES`.

const LANGUAGES = ['en', 'ja', 'zh'];
const REMEMBERED = 'kanachan-review-language';
let language = preferredLanguage();

function preferredLanguage() {
  let remembered = null;
  try {
    remembered = localStorage.getItem(REMEMBERED);
  } catch {
    // Some browsers provide no storage to pages from files.
  }
  const wanted = [remembered, ...navigator.languages].map((code) => (code ?? '').slice(0, 2));
  return wanted.find((code) => LANGUAGES.includes(code)) ?? LANGUAGES[0];
}

function setLanguage(code) {
  language = code;
  try {
    localStorage.setItem(REMEMBERED, code);
  } catch {
    // The choice then lasts only as long as the page is open.
  }
}

// The text of a key, with {name} replaced by values.name.
function t(key, values = {}) {
  return TEXTS[key][LANGUAGES.indexOf(language)].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

// The same as a list of strings and elements, for values that are elements.
function phrase(key, values) {
  const pieces = TEXTS[key][LANGUAGES.indexOf(language)].split(/\{(\w+)\}/);
  return pieces.flatMap((piece, i) => (i % 2 ? values[piece] : piece)).filter((piece) => piece !== '');
}

// The text of a key that depends on the data; `fallback` if the key is not in the table.
function known(key, fallback) {
  return key in TEXTS ? t(key) : fallback;
}

function signed(value, digits = 0) {
  const text = grouped(Math.abs(value), digits);
  return (value < 0 ? '\u2212' : '+') + text;
}

function grouped(value, digits = 0) {
  const format = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value.toLocaleString('en', format).replace('-', '\u2212');
}

function percent(value, digits = 0) {
  return `${(100 * value).toFixed(digits)}%`;
}

// Probabilities as players read them: below ten per cent with one decimal, and never rounded to 0 or 100.
function share(value) {
  if (value > 0 && value < 0.001) return '<0.1%';
  if (value >= 0.9995 && value < 1) return '>99.9%';
  return percent(value, value < 0.0995 || (value > 0.99 && value < 1) ? 1 : 0);
}

// How often chances like this one came true in games that the network had not seen, in brackets.
function cameTrue(kind, chance) {
  const bin = file.chances?.[kind].findLast(([lowest]) => lowest <= chance);
  if (!bin?.[3]) return '';
  const [, , happened, number] = bin;
  return t('chance.happened', { happened: share(happened), number: grouped(number) });
}

function tileName(name) {
  const number = Number(name[0]);
  if (name[1] === 'z') return t(`honour.${number}`);
  const tile = t(`suit.${name[1]}`, { number: number || 5 });
  return number ? tile : t('tile.red', { tile });
}

function placeName(rank) {
  return t(`place.${rank}`);
}

function roundName({ wind, dealer, honba }, isShort = false) {
  const values = { wind: t(isShort ? `wind.${wind}` : `honour.${wind + 1}`), number: dealer + 1, honba };
  if (isShort) return t('round.short', values);
  return honba ? t('round.honba', values) : t('round', values);
}

function windOf(seat, table) {
  const numSeats = table.scores.length;
  return t(`wind.${(seat - table.dealer + numSeats) % numSeats}`);
}

// Where a seat sits, as seen from the reviewed seat.
function relation(seat) {
  const side = sideOf(seat, data.seat, data.players.length);
  return t(['relation.own', 'relation.right', 'relation.across', 'relation.left'][side]);
}

// The name of a player, or where the player sits if the record has no names.
function playerName(seat) {
  return data.players[seat]?.name ?? relation(seat);
}

function gradeName(grade) {
  if (!grade) return null;
  if (language !== 'en') return grade.text;
  const { system, number, text } = grade;
  if (system === 'tenhou') {
    if (number >= 1 && number <= 19) return number < 10 ? `${10 - number} kyu` : `${number - 9} dan`;
    return known(`grade.tenhou.${number}`, text);
  }
  if (number === 15) return t('grade.mjsoul.15');
  return `${known(`grade.mjsoul.${Math.floor(number / 3)}`, text)} ${(number % 3) + 1}`;
}

function shanten(number) {
  if (number < 0) return t('shanten.complete');
  return number === 0 ? t('shanten.tenpai') : t('shanten', { number });
}

// The text shortened to `columns` columns; a wide character takes two columns.
function shortened(text, columns) {
  let free = columns;
  let end = 0;
  for (const character of text) {
    free -= character.codePointAt(0) > 0x2e7f ? 2 : 1;
    if (free < 0) return `${text.slice(0, end)}\u2026`;
    end += character.length;
  }
  return text;
}
