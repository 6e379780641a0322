// What a program printed for a terminal: its colours as far as they can be read here, nothing else of its control codes.

// ECMA-48 sequences: CSI, strings such as OSC, two-character escapes; then control characters but tab and line feed.
const SEQUENCES = /\u001b(?:\[[0-?]*[ -\/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -\/]*[0-~])|\u009b[0-?]*[ -\/]*[@-~]/g;
const CONTROLS = /[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]|\u001b(?!\[[0-9;:]*m)/g;
const COLOURING = /^\u001b\[[0-9;:]*m$/;
const COLOURINGS = /\u001b\[([0-9;:]*)m/g;

// The eight colours of a terminal; of any other the nearest one counts, so that nothing is hard to read.
const HUES = [[0, 0, 0], [205, 49, 49], [13, 148, 80], [190, 150, 10], [36, 90, 200], [188, 63, 188], [17, 150, 190], [229, 229, 229]];
const STYLES = { 1: ["bold", true], 2: ["dim", true], 3: ["italic", true], 4: ["underline", true], 9: ["struck", true], 22: ["bold dim", false], 23: ["italic", false], 24: ["underline", false], 29: ["struck", false] };

// The text with the sequences that colour it, and without all others.
function terminalText(text) {
  const lines = text.replace(SEQUENCES, (sequence) => (COLOURING.test(sequence) ? sequence : "")).replace(/\r+\n/g, "\n").split("\n");
  // A carriage return goes back to the beginning of the line, as progress bars do.
  return lines.map((line) => line.slice(line.lastIndexOf("\r", line.length - 2) + 1)).join("\n").replace(CONTROLS, "");
}

function plainText(text) {
  return text.replace(COLOURINGS, "").replace(/\u001b\[?[0-9;:]*$/, "");
}

function terminalBlock(text) {
  return scrollable(element("pre", "", ...terminalParts(text)));
}

function terminalParts(text) {
  const parts = [];
  let style = {};
  let copied = 0;
  const add = (said) => {
    const names = classesOf(style);
    if (said) parts.push(names ? element("span", names, said) : said);
  };
  for (const match of text.matchAll(COLOURINGS)) {
    add(text.slice(copied, match.index));
    style = styled(style, match[1]);
    copied = match.index + match[0].length;
  }
  add(plainText(text.slice(copied))); // a shortened text may end within a sequence
  return parts;
}

function styled(before, codes) {
  const style = { ...before };
  const numbers = codes.split(/[;:]/).map(Number);
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at];
    if (code === 0) for (const name of Object.keys(style)) delete style[name];
    else if (STYLES[code]) for (const name of STYLES[code][0].split(" ")) style[name] = STYLES[code][1];
    else if (code === 38 || code === 48) {
      const isRgb = numbers[at + 1] === 2;
      style[code === 38 ? "fg" : "bg"] = isRgb ? nearest(numbers.slice(at + 2, at + 5)) : indexed(numbers[at + 2]);
      at += isRgb ? 4 : 2;
    } else if (code === 39) delete style.fg;
    else if (code === 49) delete style.bg;
    else if ((code >= 30 && code < 38) || (code >= 90 && code < 98)) style.fg = code % 10;
    else if ((code >= 40 && code < 48) || (code >= 100 && code < 108)) style.bg = code % 10;
  }
  return style;
}

// Text in the colour of its ground would be hidden.
function classesOf(style) {
  const names = Object.keys(STYLES).flatMap((code) => STYLES[code][0].split(" ")).filter((name) => style[name] === true);
  if (style.fg !== undefined && style.fg !== style.bg) names.push(`fg-${style.fg}`);
  if (style.bg !== undefined && style.fg !== style.bg) names.push(`bg-${style.bg}`);
  return [...new Set(names)].map((name) => `ansi-${name}`).join(" ");
}

function indexed(number) {
  if (!(number >= 0 && number < 256)) return undefined;
  if (number < 16) return number % 8;
  if (number >= 232) return nearest(Array(3).fill(8 + 10 * (number - 232)));
  const cube = number - 16;
  return nearest([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((step) => (step ? 55 + 40 * step : 0)));
}

function nearest(colour) {
  const distance = (hue) => hue.reduce((sum, part, at) => sum + (part - (colour[at] || 0)) ** 2, 0);
  return HUES.reduce((best, hue, at) => (distance(hue) < distance(HUES[best]) ? at : best), 0);
}
