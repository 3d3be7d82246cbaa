/* Text to ids and back, as SentencePiece does it (chapter 02).

   Two of its kinds of models: words, and unigram pieces with bytes for
   characters that have no piece. */

"use strict";

course.part(function tokenizer() {
  const SPACE = "\u2581"; // how SentencePiece writes a space
  const UNKNOWN_PENALTY = 10; // nats below the least likely piece

  const BYTE = /^<0x([0-9A-F]{2})>$/;
  const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  /* What bytes spell, with a sign for each that is part of no character. */
  function spelling(bytes) {
    let text = "";
    for (let at = 0, size; at < bytes.length; at += size) {
      const first = bytes[at];
      size = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
      try {
        text += UTF_8.decode(new Uint8Array(bytes.slice(at, at + size)));
      } catch {
        text += "\ufffd";
        size = 1;
      }
    }
    return text;
  }

  class Tokenizer {
    /* type: "word" or "unigram"; pieces: [text, log-probability] by id, of
       which the first four are pad, bos, eos and unk. */
    constructor({ type, pieces }) {
      this.type = type;
      this.pieces = pieces.map(([piece]) => piece);
      this.scores = pieces.map(([, score]) => score);
      this.ids = new Map();
      this.bytes = new Map();
      this.longest = 1;
      let least = Infinity;
      this.pieces.forEach((piece, id) => {
        if (id <= UNK) return;
        const byte = BYTE.exec(piece);
        if (byte) {
          this.bytes.set(parseInt(byte[1], 16), id);
          return;
        }
        this.ids.set(piece, id);
        this.longest = Math.max(this.longest, [...piece].length);
        least = Math.min(least, this.scores[id]);
      });
      this.unknown = Math.fround(least - UNKNOWN_PENALTY);
    }

    encode(text) {
      if (!text) return [];
      const spaced = SPACE + text.replaceAll(" ", SPACE);
      return this.type === "word" ? this.words(spaced) : this.likeliest(spaced);
    }

    /* One id a word; neighbours that are unknown are one. */
    words(spaced) {
      const ids = spaced
        .split(new RegExp(`(?=${SPACE})`))
        .map((word) => this.ids.get(word) ?? UNK);
      return ids.filter((id, i) => id !== UNK || ids[i - 1] !== UNK);
    }

    /* The cut whose pieces have the largest sum of scores, by Viterbi. */
    likeliest(spaced) {
      const characters = [...spaced];
      const best = [{ score: 0 }];
      for (let start = 0; start < characters.length; start++) {
        const reach = (end, id, score) => {
          const total = Math.fround(best[start].score + score);
          if (!best[end] || total > best[end].score)
            best[end] = { score: total, start, id };
        };
        let piece = "";
        let single = false;
        const last = Math.min(characters.length, start + this.longest);
        for (let end = start + 1; end <= last; end++) {
          piece += characters[end - 1];
          const id = this.ids.get(piece);
          if (id === undefined) continue;
          single ||= end === start + 1;
          reach(end, id, this.scores[id]);
        }
        if (!single) reach(start + 1, UNK, this.unknown);
      }
      const ids = [];
      for (let end = characters.length; end > 0; end = best[end].start) {
        const { id, start } = best[end];
        if (id !== UNK) ids.unshift(id);
        else ids.unshift(...this.spelt(characters[start]));
      }
      return ids;
    }

    /* The bytes of a character that has no piece. */
    spelt(character) {
      const bytes = [...new TextEncoder().encode(character)];
      return bytes.map((byte) => this.bytes.get(byte) ?? UNK);
    }

    decode(ids) {
      const bytes = [];
      const encoder = new TextEncoder();
      for (const id of ids) {
        const piece = this.pieces[id];
        const byte = BYTE.exec(piece);
        if (id === UNK) bytes.push(...encoder.encode(" \u2047 "));
        else if (byte) bytes.push(parseInt(byte[1], 16));
        else if (id > UNK)
          bytes.push(...encoder.encode(piece.replaceAll(SPACE, " ")));
      }
      const text = spelling(bytes);
      const first = this.pieces[ids.find((id) => id >= UNK)];
      return first?.startsWith(SPACE) ? text.slice(1) : text;
    }
  }

  return { Tokenizer };
});
