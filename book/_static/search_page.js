/* The search page: what is typed into its field is answered below it. */

(() => {
  "use strict";

  const PAGES = 10; // shown at once, the rest is folded
  const SECTIONS = 3; // of each
  const PAUSE = 250; // milliseconds after a key, until it is answered
  const JAPANESE = /([\u3005-\u30ff\u3400-\u9fff\uff66-\uff9d]+)/;

  const { words } = courseSearch;
  const prepared = courseRank.prepare(courseSearch);
  const form = document.querySelector(".bd-search-container form.bd-search");
  const field = form.elements.q;
  const results = document.getElementById("search-results");
  const status = make("p", { id: "search-status", role: "status" });

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  function say(text, ...values) {
    return values.reduce((said, value) => said.replace("{}", value), text);
  }

  /* Text whose Japanese is marked as such, so that it is read and drawn so. */
  function spoken(text) {
    return text
      .split(JAPANESE)
      .map((part, i) => (i % 2 ? make("span", { lang: "ja" }, part) : part));
  }

  /* A list, of which what is too much is folded. */
  function list(tag, items, most, more) {
    const shown = make(tag, {}, ...items.slice(0, most));
    const rest = items.slice(most);
    if (!rest.length) {
      return [shown];
    }
    const summary = make("summary", {}, say(more, rest.length));
    return [shown, make("details", {}, summary, make(tag, {}, ...rest))];
  }

  function sectionItem(number, query) {
    const [page, anchor, title, text] = courseSearch.sections[number];
    const [address, pageTitle] = courseSearch.pages[page];
    const name = title === pageTitle ? words.start : title;
    const pieces = courseRank.snippet(text, query).map((piece) =>
      piece.mark ? [make("mark", {}, ...spoken(piece.text))] : spoken(piece.text),
    );
    const link = make("a", { href: `${address}#${anchor}` }, ...spoken(name));
    return make("li", {}, link, make("p", {}, ...pieces.flat()));
  }

  function pageItem({ page, sections }, query) {
    const [address, title] = courseSearch.pages[page];
    const items = sections.map((number) => sectionItem(number, query));
    return make(
      "li",
      {},
      make("h2", {}, make("a", { href: address }, title)),
      ...list("ul", items, SECTIONS, words.more),
    );
  }

  function answer() {
    const query = field.value.trim();
    const found = query ? courseRank.rank(prepared, query) : [];
    const items = found.map((page) => pageItem(page, query));
    results.replaceChildren(...list("ol", items, PAGES, words.other));
    const count = found.flatMap(({ sections }) => sections).length;
    const said = count
      ? say(words.found, count, found.length)
      : say(words.none, query);
    status.textContent = query ? said : "";
    history.replaceState(null, "", `?${new URLSearchParams({ q: query })}`);
  }

  let waiting;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(answer, PAUSE);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    answer();
  });
  results.before(status);
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  answer();
})();
