// A sign for whatever takes longer than a moment. A click on the table that comes meanwhile is answered by the sign at once.
"use strict";
(() => {
  const MOMENT = 400;
  const LONG = 4000;
  let requests = 0;
  let leaving = false;
  let timers = [];

  function say(words) {
    const sign = document.getElementById("busy");
    sign.hidden = !words;
    sign.textContent = words;
  }

  function watch() {
    timers.forEach(clearTimeout);
    timers = [];
    if (!requests && !leaving) {
      say("");
      return;
    }
    timers = [
      setTimeout(() => say("One moment …"), MOMENT),
      setTimeout(() => say("One moment: what is used for the first time after an installation is compiled, once …"), LONG),
    ];
  }

  // A page that asks for news on its own keeps nobody waiting.
  const asksItself = (event) => event.detail.elt.getAttribute("hx-trigger")?.match(/^(load|every)/);
  document.addEventListener("htmx:beforeSend", (event) => {
    if (!asksItself(event) && !requests++) watch();
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (!asksItself(event) && requests && !--requests) watch();
  });

  // Forms and links that lead to another page; what is saved as a file leads nowhere.
  let saves = false;
  document.addEventListener("click", (event) => { saves = Boolean(event.target.closest?.("a[download]")); }, true);
  function setLeaving(now) {
    if (leaving === now) return;
    leaving = now;
    watch();
  }
  window.addEventListener("beforeunload", () => setLeaving(!saves));
  // Whoever presses something else has stopped waiting; and the back button may bring this page back.
  document.addEventListener("pointerdown", () => setLeaving(false), true);
  window.addEventListener("pageshow", () => setLeaving(false));

  // One request of the table at a time; the rest of a double click is not meant.
  function refuse(event) {
    if (requests && event.target.closest?.("#table")) say("One moment: this was not taken, since the last move is still being worked on …");
  }
  document.addEventListener("click", (event) => { if (event.detail < 2 || event.target.closest?.("#hand")) refuse(event); }, true);
  document.addEventListener("pointerup", (event) => { if (document.querySelector(".lifted")) refuse(event); }, true);
})();
