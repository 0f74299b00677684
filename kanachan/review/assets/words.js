// Formats names and numbers for display.

const WINDS = ['East', 'South', 'West', 'North'];
const PLACES = ['1st', '2nd', '3rd', '4th'];

function signed(value, digits = 0) {
  const text = Math.abs(value).toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (value < 0 ? '\u2212' : '+') + text;
}

function percent(value, digits = 0) {
  return `${(100 * value).toFixed(digits)} %`;
}

function tileName(name) {
  const honours = ['East', 'South', 'West', 'North', 'White', 'Green', 'Red'];
  if (name[1] === 'z') return honours[name[0] - 1];
  const suits = { m: 'characters', p: 'circles', s: 'bamboo' };
  return name[0] === '0' ? `red 5 of ${suits[name[1]]}` : `${name[0]} of ${suits[name[1]]}`;
}
