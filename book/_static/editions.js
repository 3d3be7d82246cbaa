/* The link to the other edition leads to the section that is being read. What
   grows above it while the page is loaded is made up for once. */

"use strict";

for (const link of document.querySelectorAll("a.other-edition")) {
  const aim = () => {
    const read = [...document.querySelectorAll(".bd-article section[id]")]
      .findLast((section) => section.getBoundingClientRect().top < innerHeight / 3);
    link.hash = read && scrollY > 0 ? read.id : "";
  };
  for (const event of ["pointerenter", "focus", "click"])
    link.addEventListener(event, aim);
}

addEventListener("load", () => {
  const [{ type }] = performance.getEntriesByType("navigation");
  const id = decodeURIComponent(location.hash.slice(1));
  if (type === "navigate") document.getElementById(id)?.scrollIntoView();
});
