/* The link to the other edition leads to the section that is being read. */

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
