/* What a term means, where a chapter first uses it: at a pointer, at the
   keyboard's focus, at a touch. The page has the meanings in a template. */

"use strict";

{
  const links = document.querySelectorAll("a:has(> .term)");
  const meanings = document.querySelector("template.terms")?.content.children;
  const box = document.createElement("div");
  if (meanings && box.showPopover) {
    Object.assign(box, { id: "term-meaning", popover: "auto", role: "tooltip" });
    document.querySelector("article").append(box);
  }

  let waiting, shown;
  const forget = () => {
    shown?.removeAttribute("aria-describedby");
    shown = null;
  };
  const hide = () => box.togglePopover(false);
  const stay = () => clearTimeout(waiting);
  const hideSoon = () => {
    stay();
    waiting = setTimeout(hide, 200);
  };

  const show = (link, meaning) => {
    stay();
    forget();
    shown = link;
    link.setAttribute("aria-describedby", box.id);
    box.replaceChildren(...meaning.cloneNode(true).children);
    box.togglePopover(true);
    place();
  };

  const place = () => {
    const { left, top, bottom } = shown.getClientRects()[0];
    const most = document.documentElement.clientWidth - box.offsetWidth - 8;
    const above = top - box.offsetHeight - 4;
    box.style.left = `${Math.max(8, Math.min(left, most))}px`;
    box.style.top = `${above > 8 ? above : bottom + 4}px`;
  };

  if (box.isConnected) {
    links.forEach((link, i) => {
      const open = () => show(link, meanings[i]);
      link.addEventListener("pointerenter", ({ pointerType }) => pointerType === "mouse" && open());
      link.addEventListener("pointerleave", hideSoon);
      link.addEventListener("focus", () => link.matches(":focus-visible") && open());
      link.addEventListener("blur", hideSoon);
      link.addEventListener("click", (event) => {
        if (event.pointerType !== "touch") return; // else it leads to the glossary
        event.preventDefault();
        open();
      });
    });
    box.addEventListener("pointerenter", stay);
    box.addEventListener("pointerleave", hideSoon);
    box.addEventListener("toggle", ({ newState }) => newState === "closed" && forget());
    addEventListener("keydown", ({ key }) => key === "Escape" && hide());
    addEventListener("scroll", () => shown && place(), { passive: true });
  }
}
