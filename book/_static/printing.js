/* What is folded on the screen is open on paper. */

(() => {
  "use strict";

  let opened = [];

  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll(".bd-article details:not([open])")];
    opened.forEach((fold) => (fold.open = true));
  });
  addEventListener("afterprint", () => {
    opened.forEach((fold) => (fold.open = false));
  });
})();
