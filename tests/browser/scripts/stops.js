// Formulas that the keyboard stops at, though they do not scroll.
() => [...document.querySelectorAll("mjx-container")]
  .filter((formula) => !formula.dataset.scrolls)
  .filter((formula) => formula.tabIndex >= 0
    || formula.querySelector("[tabindex='0'], a[href]"))
  .map((formula) => formula.textContent)
