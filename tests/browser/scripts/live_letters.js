() => {
  const size = (one) => {
    const { a = 1, b = 0 } = one.getScreenCTM?.() ?? {};
    return parseFloat(getComputedStyle(one).fontSize) * Math.hypot(a, b);
  };
  const found = [];
  for (const root of document.querySelectorAll("[data-live]")) {
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const [text, one] = [texts.currentNode, texts.currentNode.parentElement];
      if (text.data.trim() && one.checkVisibility())
        found.push([size(one), text.data]);
    }
  }
  return found;
}
