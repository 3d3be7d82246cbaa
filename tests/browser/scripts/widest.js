// What reaches over the right edge; the innermost come last.
() => {
  const clips = (box) => getComputedStyle(box).overflowX !== "visible";
  const inside = (box) =>
    box && box !== document.body && (clips(box) || inside(box.parentElement));
  return [...document.querySelectorAll(".bd-main *")]
    .filter((box) => box.getBoundingClientRect().right > innerWidth)
    .filter((box) => !inside(box.parentElement))
    .map((box) => box.outerHTML.slice(0, 120))
    .slice(-3);
}
