// Words of a drawing that leave it, leave their box, or meet other words.
() => {
  const svg = document.querySelector("svg");
  const { width, height } = svg.viewBox.baseVal;
  const between = (low, value, high) => low <= value && value <= high;
  const sides = ({ x, y, width, height }) => ({
    left: x,
    right: x + width,
    top: y + height / 4, // a font's height is more than its letters'
    bottom: y + (height * 3) / 4,
  });
  const all = [...svg.querySelectorAll("text")].map((text) => ({
    words: text.textContent,
    ...sides(text.getBBox()),
  }));
  const boxes = [...svg.querySelectorAll("rect")].map((rect) => {
    const { x, y, width, height } = rect.getBBox();
    return { left: x, right: x + width, top: y, bottom: y + height };
  });
  const holds = (box, one) =>
    between(box.left, (one.left + one.right) / 2, box.right) &&
    between(box.top, (one.top + one.bottom) / 2, box.bottom);
  return all
    .filter(
      (one, place) =>
        !(one.left >= 0 && one.right <= width) ||
        !(one.top >= 0 && one.bottom <= height) ||
        boxes.some(
          (box) =>
            holds(box, one) &&
            (one.left < box.left || one.right > box.right),
        ) ||
        all.some(
          (other, before) =>
            before < place &&
            one.left < other.right &&
            other.left < one.right &&
            one.top < other.bottom &&
            other.top < one.bottom,
        ),
    )
    .map((one) => one.words);
}
