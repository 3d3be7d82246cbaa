(screen) => {
  const edge = screen.getBoundingClientRect();
  const seen = { visibilityProperty: true, opacityProperty: true };
  return [...screen.querySelectorAll(".lv-block > *, .lv-sign")]
    .filter((one) => one.checkVisibility(seen) && one.textContent)
    .filter((one) => {
      const text = document.createRange();
      text.selectNodeContents(one);
      const box = text.getBoundingClientRect();
      return box.left < edge.left || box.right > edge.right
        || box.top < edge.top || box.bottom > edge.bottom;
    })
    .map((one) => one.textContent);
}
