// How many empty positions a ribbon leads to.
(root) => {
  const stage = root.querySelector("[data-lv=stage]").getBoundingClientRect();
  const ends = [...root.querySelectorAll(".lv-ribbons path")].map((path) =>
    path.getPointAtLength(path.getTotalLength()));
  return [...root.querySelectorAll(".is-empty")].filter((word) => {
    const { left, right, bottom } = word.getBoundingClientRect();
    return ends.some(({ x, y }) => y + stage.top > bottom - 2
      && x + stage.left > left && x + stage.left < right);
  }).length;
}
