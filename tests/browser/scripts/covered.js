// Share of the marks of the slide's picture that are still to come.
() => {
  const figure = Reveal.getCurrentSlide().querySelector("figure > svg");
  const marks = [...figure.querySelectorAll("path, use, text, image, rect")]
    .filter((mark) => !mark.closest("defs"));
  const hidden = (mark) => mark.matches(".fragment:not(.visible)");
  return marks.filter(hidden).length / marks.length;
}
