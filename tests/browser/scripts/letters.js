// How large letters in drawings are, in CSS pixels.
() => {
  const size = (text) => {
    const { a, b } = text.getScreenCTM();
    return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(a, b);
  };
  return [...document.querySelectorAll("article svg text")]
    .map((text) => [size(text), text.textContent.trim()]);
}
