// What extensions show: display values, which a session may have with results, messages and entries.

const DISPLAY_CHARACTERS = 200000; // of a list, with the names of its types; the terminal shows 100,000 without them
const isText = (value) => typeof value === "string";
const areTexts = (value) => Array.isArray(value) && value.every(isText);

// For each kind of value what its fields must be, and the element that shows it.
const DISPLAY_KINDS = {
  text: { fits: (value) => isText(value.text), show: (value) => element("p", "", value.text) },
  markdown: { fits: (value) => isText(value.text), show: (value) => markdown(value.text) },
  diff: { fits: (value) => isText(value.text), show: (value) => diffLines(value.text) },
  code: { fits: (value) => isText(value.text), show: (value) => codeBlock(value.text, asText(value.language)) },
  fields: {
    fits: (value) => Array.isArray(value.fields) && value.fields.every((one) => areTexts(one) && one.length === 2),
    show: (value) => displayTable([], value.fields),
  },
  table: {
    fits: (value) => areTexts(value.columns) && Array.isArray(value.rows) && value.rows.every(areTexts),
    show: (value) => displayTable(value.columns, value.rows),
  },
};

function kindOfDisplay(value) {
  const type = asText(asObject(value).type);
  return Object.hasOwn(DISPLAY_KINDS, type) ? DISPLAY_KINDS[type] : null;
}

// An element with the values; null if there are none, or any of them is not one: then the text is shown.
function displayed(values) {
  const found = asList(values);
  if (!found.length || !found.every((value) => kindOfDisplay(value) && kindOfDisplay(value).fits(value))) return null;
  if (strings(found).length > DISPLAY_CHARACTERS) return null;
  return element("div", "markdown", ...found.map((value) => kindOfDisplay(value).show(value)));
}

function displayTable(columns, rows) {
  const row = (texts, tag) => element("tr", "", ...texts.map((text) => element(tag, "start", text)));
  const body = element("tbody", "", ...rows.map((texts) => row(texts, "td")));
  const head = columns.length ? element("thead", "", row(columns, "th")) : null;
  return scrollable(element("div", "table", element("table", "", head, body)));
}
