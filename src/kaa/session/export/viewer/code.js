// Code in colours, by its words and not by its grammar; and the buttons that copy it.

const LONGEST_CODE = 100000; // characters; longer code has one colour

const NAMES = {
  python: "py pyi python3", javascript: "js mjs cjs jsx ts tsx typescript json jsonc json5", shell: "sh bash zsh fish console dockerfile makefile",
  c: "h cpp cc cxx hpp cs csharp java kt kotlin go rs rust swift scala dart php zig objc", ruby: "rb", sql: "", css: "scss less", config: "toml yaml yml ini cfg conf env",
};
const WORDS = {
  python: "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield True False None self",
  javascript: "async await break case catch class const continue default delete do else export extends finally for from function if import in instanceof interface let new of return static super switch this throw try type typeof var void while yield true false null undefined",
  shell: "if then elif else fi for while until do done case esac function in return local export set unset cd echo exit source sudo FROM RUN COPY ENV",
  c: "auto bool break case catch char class const continue def default defer delete do double else enum extern false final fn float for foreach fun func go if impl implements import in int interface let long loop match mod mut namespace new nil null nullptr package private protected pub public return select self short static string struct super switch template this throw trait true try type typedef union unsafe use using val var void while yield",
  ruby: "alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo require rescue retry return self super then true undef unless until when while yield",
  sql: "select from where and or not null is in as on join left right inner outer full group by order having limit offset union all distinct insert into values update set delete create table index view drop alter primary key references default case when then else end with SELECT FROM WHERE AND OR NOT NULL IS IN AS ON JOIN LEFT RIGHT INNER OUTER FULL GROUP BY ORDER HAVING LIMIT OFFSET UNION ALL DISTINCT INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE INDEX VIEW DROP ALTER PRIMARY KEY REFERENCES DEFAULT CASE WHEN THEN ELSE END WITH",
  css: "important media import from to",
  config: "true false null yes no on off",
};
const HASH = "#[^\\n]*", SLASHES = "\\/\\/[^\\n]*|\\/\\*[^]*?(?:\\*\\/|$)";
const COMMENTS = { python: HASH, shell: `(?<![^\\s;])${HASH}`, ruby: HASH, config: `(?<![^\\s])[#;][^\\n]*`, sql: "--[^\\n]*|\\/\\*[^]*?(?:\\*\\/|$)", css: "\\/\\*[^]*?(?:\\*\\/|$)" };
const TRIPLE = '"""[^]*?(?:"""|$)|\'\'\'[^]*?(?:\'\'\'|$)|';
const QUOTED = '"(?:[^"\\\\\\n]|\\\\[^])*"?|\'(?:[^\'\\\\\\n]|\\\\[^])*\'?';
const grammars = new Map();

// The language that a name or the end of a file name means; empty if it is none that is known.
function languageOf(name) {
  const wanted = name.toLowerCase();
  return Object.keys(NAMES).find((language) => language === wanted || NAMES[language].split(" ").includes(wanted)) || "";
}

function languageOfPath(path) {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return languageOf(name.slice(name.lastIndexOf(".") + 1));
}

function grammarOf(language) {
  if (!grammars.has(language)) {
    const strings = (language === "python" ? TRIPLE : "") + QUOTED + (language === "javascript" ? "|`(?:[^`\\\\]|\\\\[^])*`?" : "");
    const comment = COMMENTS[language] || SLASHES;
    const source = `(?<comment>${comment})|(?<string>${strings})|(?<number>\\b\\d[\\w.]*)|(?<word>[A-Za-z_$][\\w$]*)`;
    grammars.set(language, { tokens: new RegExp(source, "g"), words: new Set(WORDS[language].split(" ")) });
  }
  return grammars.get(language);
}

// Text as coloured parts, to be appended.
function colouredCode(text, language) {
  if (!language || text.length > LONGEST_CODE) return [text];
  const { tokens, words } = grammarOf(language);
  const parts = [];
  let copied = 0;
  for (const match of text.matchAll(tokens)) {
    const { comment, string, number, word } = match.groups;
    const kind = comment ? "comment" : string ? "string" : number ? "number" : word && words.has(word) ? "keyword" : "";
    if (!kind) continue;
    parts.push(text.slice(copied, match.index), element("span", `code-${kind}`, match[0]));
    copied = match.index + match[0].length;
  }
  return [...parts, text.slice(copied)];
}

// `get` gives what is copied: what is shown, though perhaps shortened here.
function copyButton(get) {
  const made = button("copy", "", "Copy", async () => {
    made.dataset.state = (await copied(get())) ? "done" : "failed";
    setTimeout(() => delete made.dataset.state, 1500);
  });
  made.setAttribute("aria-label", "Copy");
  return made;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedBySelection(text); // some browsers give files no clipboard
  }
}

function copiedBySelection(text) {
  const field = element("textarea", "copied");
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}
