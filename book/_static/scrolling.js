/* What is too wide for the screen scrolls inside a box of its own. Such a box
   can be reached by keyboard, and says what it is; one that fits is no stop. */

(() => {
  "use strict";

  const WORDS = {
    en: { table: "Table", code: "Code", output: "Output", formula: "Formula" },
    ja: { table: "表", code: "コード", output: "出力", formula: "数式" },
  };
  const KINDS = {
    table: ".pst-scrollable-table-container, .text_html",
    output: ".cell_output pre, .cell_output > .output",
    formula: "div.math, mjx-container[display]",
    code: "pre",
  };

  const words = WORDS[document.documentElement.lang] ?? WORDS.en;
  const article = document.querySelector(".bd-article");

  function look(box) {
    if (box.scrollWidth > box.clientWidth) {
      const kind = Object.keys(KINDS).find((name) => box.matches(KINDS[name]));
      box.dataset.scrolls = kind;
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", words[kind]);
    } else if (box.dataset.scrolls) {
      for (const name of ["data-scrolls", "tabindex", "role", "aria-label"]) {
        box.removeAttribute(name);
      }
    }
  }

  // its size changes with the window, with formulas, with what is unfolded
  if (article) {
    new ResizeObserver(() =>
      article.querySelectorAll(Object.values(KINDS).join()).forEach(look),
    ).observe(article);
  }
})();
