// Share of the slide's picture that is still covered.
() => {
  const figure = Reveal.getCurrentSlide().querySelector("figure > svg");
  const { width, height } = figure.getBoundingClientRect();
  return [...figure.querySelectorAll(".fragment")]
    .filter((cover) => cover.checkVisibility({ visibilityProperty: true }))
    .map((cover) => cover.getBoundingClientRect())
    .reduce((sum, box) => sum + box.width * box.height, 0) / (width * height);
}
