// Mark what has only letters and grounds that were on the page before: axe
// takes seconds for each thousand words.
() => {
  const grounds = new Map();
  const ground = (box) => {
    if (!grounds.has(box)) {
      const own = getComputedStyle(box).backgroundColor;
      const clear = own === "rgba(0, 0, 0, 0)" && box.parentElement;
      grounds.set(box, clear ? ground(box.parentElement) : own);
    }
    return grounds.get(box);
  };
  const look = (box) => {
    const { color, fontSize, fontWeight, opacity } = getComputedStyle(box);
    return [color, fontSize, fontWeight, opacity, ground(box)].join();
  };
  const seen = new Set();
  for (const box of document.querySelectorAll("[data-known]")) {
    box.removeAttribute("data-known");
  }
  const boxes = "article :is(p, li, td, dt, .highlight)";
  for (const box of document.querySelectorAll(boxes)) {
    const looks = [box, ...box.querySelectorAll("*")].map(look);
    box.toggleAttribute("data-known", looks.every((one) => seen.has(one)));
    looks.forEach((one) => seen.add(one));
  }
}
