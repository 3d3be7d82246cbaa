// Every figure runs, and has written what it writes.
() => {
  const done = (root) => {
    const target = root.querySelector("[data-lv=target]");
    const waits = root.dataset.live === "search"
      && root.getAttribute("aria-busy") !== "false";
    return root.classList.contains("is-live") && !waits
      && (!target || target.textContent.includes("eos"));
  };
  return [...document.querySelectorAll("[data-live]")].every(done);
}
