/* Text as people write it, and as the corpora have it: the rules of
   transformer_course/data/plain.py. The browser cuts Japanese into words. */

"use strict";

course.part(function plain() {
  const MIN_GAPS = 0.25;
  const LETTER = String.raw`[\p{L}\p{Nl}\p{No}]`;
  const WORD = String.raw`[\p{L}\p{N}_]`;
  const PART = String.raw`[^\s.,!?;:()'"]+`;
  const TITLE = String.raw`(?<!${WORD})(?:mrs?|ms|dr)\.`;
  const SHORT = // words that begin with an apostrophe
    String.raw`'(?:n'|em|tis|twas|till?|cause|\p{Nd}0s)(?!${WORD})`;
  const TOKEN = new RegExp(
    String.raw`(?:[a-z]\.){2,}|${TITLE}|(?<!${WORD})${SHORT}` +
      String.raw`|${PART}(?:(?:\.|(?<=\p{Nd})[,:](?=\p{Nd}))${PART})*` +
      String.raw`|(?<=${WORD})'${LETTER}+|\.+|\S`, "gu");
  const DOUBLE_QUOTED = /''((?:(?: .*?)?? '')?)/gu;
  const SINGLE_QUOTED = /(?:^|(?<=, ))'((?: .*?[,.!?] '(?= |$))?)/gu;
  const JOINED = new RegExp(
    String.raw` (?!${SHORT})(?=[.,!?;:)'”])|(?<=[“‘(]) `, "gu");
  const CAPITAL = new RegExp(
    String.raw`(?:^|(?<=${WORD}${WORD}[.!?] )|(?<=, )(?=[“‘]))[“‘(]*${LETTER}` +
      String.raw`|(?<!${WORD})i(?!${WORD}|\.${WORD})`, "gu");
  const TITLED =
    new RegExp(String.raw`${TITLE}(?: (?:and|or)(?!${WORD}))?`, "giu");
  const UNSPACED = String.raw`[\u0e00-\u109f\u1780-\u17ff` +
    String.raw`\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]`;
  const GAP = new RegExp(`(?<=${UNSPACED}) *(?=${UNSPACED})`, "gu");
  const LATIN = /(?=\p{sc=Latin})[^\uff00-\uffef]/u;
  const OWN = {
    en: /\p{sc=Latin}/u, ja: /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}ー]/u,
  };

  const straight = (text) =>
    text.replace(/[‘’]/g, "'").replace(/[“”„]/g, '"');
  const single = (text) => text.trim().split(/\s+/u).join(" ");

  /* Cut a sentence into words, separated by spaces. */
  function fromPlain(written, language) {
    written = written.normalize("NFC");
    if (language === "en")
      return (straight(written.toLowerCase()).match(TOKEN) ?? [])
        .join(" ").replaceAll('"', "''");
    const text = single(
      written.replace(/[｡-ﾟ]+/gu, (kana) => kana.normalize("NFKC")));
    const gaps = text.match(GAP) ?? [];
    const spaces = gaps.filter((gap) => gap === " ").length;
    if (text.includes(" ") && spaces >= MIN_GAPS * gaps.length) return text;
    const cut = new Intl.Segmenter("ja", { granularity: "word" });
    const words = [...cut.segment(toPlain(text, "ja"))];
    return single(words.map(({ segment }) => segment).join(" "));
  }

  /* Join words separated by spaces as people write them. */
  function toPlain(text, language) {
    if (language === "en")
      return straight(text
        .replace(DOUBLE_QUOTED, "“$1").replaceAll("''", "”")
        .replace(SINGLE_QUOTED, "‘$1").replace(JOINED, "")
        .replace(CAPITAL, (found) => found.toUpperCase())
        .replace(TITLED, ([first, ...rest]) =>
          first.toUpperCase() + rest.join("").toLowerCase()));
    return single(text).split(" ").reduce((joined, word) => {
      const neighbours = [[...joined].at(-1), [...word][0]];
      const spaced = neighbours.every((one) => LATIN.test(one));
      return joined + (spaced ? " " : "") + word;
    });
  }

  /* Whether a text may be in a language: its letters, a word of Latin ones
     for one, are not mostly of other scripts. */
  function mayBeIn(text, language) {
    const found = text.match(/\p{sc=Latin}+|\p{L}/gu) ?? [];
    const own = found.filter((one) => OWN[language].test(one));
    return 2 * own.length >= found.length;
  }

  return { fromPlain, toPlain, mayBeIn };
});
