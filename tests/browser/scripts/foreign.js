// Japanese that is shown in the figures and whose language is another.
() => {
  const found = [];
  for (const root of document.querySelectorAll("[data-live]")) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { data, parentElement } = walker.currentNode;
      if (/[\p{sc=Han}\u3040-\u30ff]/u.test(data)
        && parentElement.checkVisibility()
        && parentElement.closest("[lang]").getAttribute("lang") !== "ja")
        found.push(data);
    }
  }
  return found;
}
