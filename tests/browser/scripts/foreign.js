// Japanese that is shown in these boxes and whose language is another.
(boxes) => {
  const found = [];
  for (const root of document.querySelectorAll(boxes)) {
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
