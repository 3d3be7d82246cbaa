// Lines as ids, and rows of ids as text.
const answer = (unknown, settings, lines, rows) => {
  globalThis.UNK = unknown;
  const tokenizer = new Tokenizer(settings);
  return [lines.map((line) => tokenizer.encode(line)),
    rows.map((ids) => tokenizer.decode(ids))];
};
