// What a slide says, and how its parts lie.
() => {
  const slide = Reveal.getCurrentSlide();
  const boxes = [], letters = [];
  const texts = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let text; (text = texts.nextNode());) {
    const parent = text.parentElement;
    if (!text.data.trim()) continue;
    if (parent.closest("mjx-container, .notes, svg, style")) continue;
    if (parent.closest(".fade-out, .fade-in-then-out:not(.current-fragment)")) {
      continue; // an answer has taken its place
    }
    range.selectNodeContents(text);
    const block = parent.closest("h1, h2, p, li, td, th, pre, figcaption");
    for (const box of range.getClientRects()) {
      boxes.push([block ?? parent, box, text.data.trim()]);
    }
    letters.push([parseFloat(getComputedStyle(parent).fontSize), text.data]);
  }
  for (const box of slide.querySelectorAll("mjx-container, figure > svg")) {
    if (box.closest(".notes, .fade-out, .fade-in-then-out")) continue;
    boxes.push([box, box.getBoundingClientRect(), box.tagName]);
  }
  const around = slide.getBoundingClientRect();
  const leaves = (box) => box.left < around.left || box.top < around.top
    || box.right > around.right || box.bottom > around.bottom;
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const disjoint = (a, b) => !a.contains(b) && !b.contains(a);
  return {
    place: Reveal.getIndices().h,
    size: [around.width, around.height],
    title: slide.querySelector("h1, h2").textContent,
    notes: Reveal.getSlideNotes(),
    letters,
    outside: boxes.filter(([, box]) => leaves(box)).map((one) => one[2]),
    meeting: boxes.flatMap(([a, one, said], place) => boxes.slice(place + 1)
      .filter(([b, other]) => disjoint(a, b) && meet(one, other))
      .map((other) => [said, other[2]])),
    raw: slide.innerText.match(/\\[([]|mjx-merror/g),
    steps: new Set([...slide.querySelectorAll(".fragment")].map(
      (cover) => cover.dataset.fragmentIndex)).size,
  };
}
