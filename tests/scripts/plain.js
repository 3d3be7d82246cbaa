// Texts of plain text and to it.
const answer = (texts, language) => texts.map((text) =>
  [fromPlain(text, language), toPlain(text, language)]);
