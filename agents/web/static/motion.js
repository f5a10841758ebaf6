// Cards that move: after an answer every card goes from where it lay to where it lies now, and the opponent's turn is seen in steps.
// The table is already as it will be, and can be used: only pictures move, and whatever is pressed ends the movement.
"use strict";
(() => {
  const DURATION = 250, PAUSE = 110, STAGGER = 25;
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  const moving = new Set();
  let before = null;

  const table = () => document.getElementById("table");
  const boxOf = (selector) => document.querySelector(selector)?.getBoundingClientRect();
  const visible = (element) => element.getBoundingClientRect().width > 0;

  // Where every card, the piles and the opponent's hand are.
  function places() {
    const faces = [...document.querySelectorAll("#table .movable")].filter(visible);
    const backs = [...document.querySelectorAll("#theirs .face")];
    return {
      cards: new Map(faces.map((face) => [face.dataset.name, face.getBoundingClientRect()])),
      stock: boxOf("#do-stock"),
      pile: boxOf("#pile .pile-button"),
      upcard: document.querySelector("#pile .face")?.dataset.name,
      opponent: backs[backs.length >> 1]?.getBoundingClientRect() ?? boxOf(".opponent .groups .face") ?? boxOf(".opponent .name"),
    };
  }

  function play(element, frames, options) {
    const animation = element.animate(frames, { easing: "cubic-bezier(.3, .7, .3, 1)", fill: "backwards", ...options });
    moving.add(animation);
    const over = () => {
      moving.delete(animation);
      if (element.classList.contains("ghost")) element.remove();
    };
    animation.finished.then(over, over);
  }

  const finish = () => { for (const animation of [...moving]) animation.cancel(); };
  const shift = (from, to) => ({ transform: `translate(${from.left - to.left}px, ${from.top - to.top}px) scale(${from.width / to.width})` });
  const hide = (element, until) => { if (until) play(element, [{ opacity: 0 }, { opacity: 0 }], { duration: until, easing: "linear" }); };

  // A picture of a card or a back that lies over the table from a time on until another, in milliseconds.
  function ghost(name, to, start, end, from = to) {
    const any = document.querySelector("#table .face");
    if (!any || !to || !from) return;
    const face = any.cloneNode(true);
    const use = face.querySelector("use");
    use.setAttribute("href", use.getAttribute("href").replace(/#.*/, `#${name}`));
    face.setAttribute("class", "face ghost");
    face.dataset.name = name;
    Object.assign(face.style, { left: `${to.left}px`, top: `${to.top}px`, width: `${to.width}px` });
    document.body.append(face);
    hide(face, start);
    play(face, [shift(from, to), { transform: "none" }], { delay: start, duration: DURATION, endDelay: Math.max(0, end - start - DURATION), fill: "both" });
  }

  // The steps of both sides, one after the other; returns how long they take, and what had come to lie on the pile before the last.
  function showSteps(now, steps) {
    const pile = now.pile ?? before.pile;
    const back = document.querySelector("#do-stock .face, #theirs .face")?.dataset.name;
    const times = steps.map((_, n) => n * (DURATION + PAUSE));
    const total = times.at(-1) + DURATION;
    let top = before.upcard;
    if (top && steps[0] !== "take") ghost(top, pile, 0, total);
    for (const [n, step] of steps.entries()) {
      const [what, card] = step.split("-");
      const start = times[n];
      if (what === "stock") ghost(back, now.opponent, start, start + DURATION, now.stock ?? before.stock);
      else if (what === "take") ghost(top, now.opponent, start, start + DURATION, pile);
      else {
        // It lies there until the opponent takes it.
        const end = steps[n + 1] === "take" ? times[n + 1] : total;
        ghost(card, pile, start, end, what === "discard" ? before.cards.get(card) : before.opponent ?? now.opponent);
        top = card;
      }
    }
    return total;
  }

  function move() {
    const now = places();
    const steps = table().dataset.steps.split(" ").filter(Boolean);
    const wait = steps.length ? showSteps(now, steps) : 0;
    let dealt = 0;
    for (const face of document.querySelectorAll("#table .movable")) {
      const name = face.dataset.name;
      const to = now.cards.get(name);
      if (!to) continue;
      const known = before.cards.get(name);
      const inHand = face.closest(".hand-slot");
      if (!inHand && face.closest("#pile")) {
        if (steps.length) hide(face, wait);
        continue;
      }
      const from = known ?? (inHand ? now.stock ?? before.stock : before.opponent);
      if (!from || Math.abs(from.left - to.left) + Math.abs(from.top - to.top) < 1) continue;
      const start = known ? 0 : wait + STAGGER * dealt++;
      if (!known) hide(face, start);
      play(face, [shift(from, to), { transform: "none" }], { delay: start, duration: DURATION });
    }
  }

  const allowed = () => table()?.hasAttribute("data-motion") && !reduced.matches && document.visibilityState === "visible";
  const isTable = (event) => event.detail.target?.id === "table";

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!isTable(event)) return;
    finish();
    before = places();
  });
  document.addEventListener("htmx:afterSwap", () => {
    if (before && allowed()) move();
    before = null;
  });
  for (const kind of ["pointerdown", "keydown"]) document.addEventListener(kind, finish, true);

  // A hand that has just been dealt comes from the stock.
  if (allowed() && /\.[01]$/.test(table().dataset.at)) {
    before = { cards: new Map(), opponent: places().opponent };
    move();
    before = null;
  }
})();
