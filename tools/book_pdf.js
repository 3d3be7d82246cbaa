/* Make a page of the book ready for paper; its title and sections. */
async () => {
  await document.fonts.ready;
  dispatchEvent(new Event("beforeprint"));
  // paper cuts what reaches over its edge: labels longer than the English ones
  for (const figure of document.querySelectorAll("article svg.figure")) {
    const copy = figure.cloneNode(true); // it may be hidden on the screen
    document.querySelector("article").append(copy);
    const view = figure.viewBox.baseVal;
    const { a: scale, e: start } = copy.getScreenCTM();
    let [left, right] = [view.x, view.x + view.width];
    for (const label of copy.querySelectorAll("text")) {
      const box = label.getBoundingClientRect();
      left = Math.min(left, (box.left - start) / scale);
      right = Math.max(right, (box.right - start) / scale);
    }
    copy.remove();
    [view.x, view.width] = [left, right - left];
  }
  // Chromium notes the place of what a link on the same page leads to
  const links = document.createElement("div");
  for (const part of document.querySelectorAll("article [id]")) {
    if (!part.closest("mjx-container")) {
      const link = document.createElement("a");
      link.href = `#${part.id}`;
      links.append(link);
    }
  }
  document.querySelector("article").append(links);
  const title = (section) => {
    const copy = section.querySelector("h1, h2")?.cloneNode(true);
    copy?.querySelectorAll(".headerlink, mjx-assistive-mml").forEach(
      (part) => part.remove());
    return copy?.textContent.trim() ?? "";
  };
  const sections = document.querySelectorAll("article > section > section");
  return {
    title: title(document.querySelector("article")),
    sections: [...sections].map((part) => [part.id, title(part)]),
  };
}
