// Hands at the table: picking cards up, dragging them, keys. Everything else is forms and links, which htmx sends.
"use strict";
(() => {
  const table = () => document.getElementById("table");
  const cards = () => [...document.querySelectorAll("#hand .card")];
  const nameOf = (card) => card.id.slice("card-".length);

  // One request at a time: a click made meanwhile was meant for a table that is about to change.
  let busy = false;

  function send(values) {
    if (busy) return;
    htmx.ajax("POST", "table", { target: "#table", swap: "outerHTML", values: { at: table().dataset.at, ...values } });
  }

  function pick(card) {
    for (const other of cards()) {
      if (other.hasAttribute("aria-pressed")) other.setAttribute("aria-pressed", String(other === card));
    }
    document.getElementById("picked").value = card ? nameOf(card) : "";
  }

  const isPicked = (card) => card.getAttribute("aria-pressed") === "true";

  // News of what a friend has done waits while the person is at work, and keeps nobody waiting.
  const isNews = (event) => event.detail.elt.id === "news";

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.target?.id !== "table") return;
    if (busy || (lifted && isNews(event))) event.preventDefault();
    busy ||= !isNews(event);
  });
  document.addEventListener("htmx:beforeSwap", (event) => { if (isNews(event) && (busy || lifted)) event.detail.shouldSwap = false; });
  document.addEventListener("htmx:afterRequest", (event) => { if (event.detail.target?.id === "table" && !isNews(event)) busy = false; });

  // The second click of a double click would press whatever the first one has put in the same place.
  document.addEventListener("click", (event) => {
    if (event.detail < 2 || !event.target.closest?.("#table button, #table .button")) return;
    // The exception: one click picks a card up, and the next discards it.
    if (event.target.closest("#hand [aria-pressed]")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);

  // The first click picks a card up, the second discards it; laying off needs one.
  document.addEventListener("click", (event) => {
    const card = event.target.closest?.("#hand .card");
    if (!card) return;
    if (dragged) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (!card.hasAttribute("aria-pressed")) return;
    event.preventDefault();
    event.stopPropagation();
    if (isPicked(card)) send({ do: "card", card: nameOf(card) });
    else pick(card);
  }, true);

  // When a discard is due, a click on the pile discards the card that is picked up.
  document.addEventListener("click", (event) => {
    const pile = event.target.closest?.("[data-drop=pile]");
    if (!pile || table().dataset.phase !== "discard") return;
    event.preventDefault();
    event.stopPropagation();
    send({ do: "discard", card: document.getElementById("picked").value });
  }, true);

  function move(card, place) {
    if (place >= 1 && place <= cards().length) send({ do: "move", card: nameOf(card), place });
  }

  function arrow(event, step) {
    const all = cards();
    const at = all.indexOf(document.activeElement);
    if (!all.length) return false;
    if (event.shiftKey && at >= 0) move(all[at], at + 1 + step);
    else all[at < 0 ? (step > 0 ? 0 : all.length - 1) : (at + step + all.length) % all.length].focus();
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, textarea")) return;
    if (event.key === "Escape" && lifted) {
      letGo();
      return;
    }
    if (event.key === "Escape" && document.querySelector('#hand [aria-pressed="true"]') && !document.getElementById("do-keep")) {
      pick(null);
      return;
    }
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const button = document.querySelector(`main [data-key="${CSS.escape(key)}"]:not([disabled])`);
    if (button) {
      event.preventDefault();
      button.click();
    } else if (key === "ArrowLeft" || key === "ArrowRight") {
      if (arrow(event, key === "ArrowLeft" ? -1 : 1)) event.preventDefault();
    }
  });

  // Dragging: to the pile, to another place in the hand, or to the knocker's melds.
  let lifted = null;
  let dragged = false;

  document.addEventListener("pointerdown", (event) => {
    const card = event.target.closest?.("#hand .card");
    dragged = false;
    if (lifted) letGo();
    if (card && event.button === 0 && event.isPrimary) lifted = { card, x: event.clientX, y: event.clientY, ghost: null };
  });

  // Puts the card back, also if the button was released where no event is sent, or if the table has changed meanwhile.
  function letGo() {
    lifted?.card.classList.remove("lifted");
    lifted?.ghost?.remove();
    lifted = null;
  }

  document.addEventListener("pointermove", (event) => {
    if (!lifted) return;
    if (!event.buttons || !lifted.card.isConnected) {
      letGo();
      return;
    }
    const [dx, dy] = [event.clientX - lifted.x, event.clientY - lifted.y];
    if (!lifted.ghost) {
      if (Math.hypot(dx, dy) < 8) return;
      dragged = true;
      lifted.ghost = lifted.card.querySelector("svg").cloneNode(true);
      const box = lifted.card.getBoundingClientRect();
      Object.assign(lifted.ghost.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px` });
      lifted.ghost.classList.add("ghost");
      document.body.append(lifted.ghost);
      lifted.card.classList.add("lifted");
    }
    lifted.ghost.style.transform = `translate(${dx}px, ${dy}px) rotate(3deg)`;
  });

  function drop(event) {
    if (!lifted) return;
    const { card, ghost } = lifted;
    letGo();
    if (!ghost) return;
    // The click event that follows a drag does not count as a click.
    setTimeout(() => { dragged = false; }, 0);
    if (event.type === "pointercancel" || !card.isConnected) return;
    const under = document.elementFromPoint(event.clientX, event.clientY);
    const phase = table().dataset.phase;
    if (under?.closest("#hand")) {
      const all = cards();
      const place = all.filter((other) => {
        const box = other.parentElement.getBoundingClientRect();
        const above = box.bottom < event.clientY;
        return other !== card && (above || (box.top <= event.clientY && box.left + box.width / 2 < event.clientX));
      }).length + 1;
      if (place !== all.indexOf(card) + 1) move(card, place);
    } else if (under?.closest("[data-drop=pile]") && phase === "discard") {
      send({ do: "discard", card: nameOf(card) });
    } else if (under?.closest(".opponent") && phase === "layoff") {
      send({ do: "lay off", card: nameOf(card) });
    }
  }
  document.addEventListener("pointerup", drop);
  document.addEventListener("pointercancel", drop);
  document.addEventListener("dragstart", (event) => { if (event.target.closest?.("#hand")) event.preventDefault(); });

  // Tones: one for each move, when it is seen, and three when a hand ends.
  const PACE = 0.36;
  const PITCHES = { stock: 330, take: 392, drop: 262, discard: 294 };
  const ENDS = { scored: [523, 659, 784], lost: [392, 330, 262], drawn: [330, 330, 330] };
  let audio = null;
  let heard = table()?.dataset.at;
  function tone(pitch, start) {
    audio ??= new AudioContext();
    const [sound, volume, time] = [audio.createOscillator(), audio.createGain(), audio.currentTime + start];
    sound.type = "triangle";
    sound.frequency.value = pitch;
    volume.gain.setValueAtTime(0.15, time);
    volume.gain.exponentialRampToValueAtTime(0.001, time + 0.15);
    sound.connect(volume).connect(audio.destination);
    sound.start(time);
    sound.stop(time + 0.15);
  }
  document.addEventListener("htmx:afterSwap", () => {
    const shown = table();
    if (!shown || heard === shown.dataset.at) return;
    heard = shown.dataset.at;
    if (!shown.hasAttribute("data-sounds")) return;
    const steps = shown.dataset.steps.split(" ").filter(Boolean).map((step) => PITCHES[step.split("-")[0]]);
    (steps.length ? steps : [PITCHES.stock]).forEach((pitch, n) => tone(pitch, n * PACE));
    ENDS[shown.dataset.ends]?.forEach((pitch, n) => tone(pitch, (steps.length + 1) * PACE + n * 0.15));
  });

  // After an answer, keyboard users keep their focus, and screen readers read out what happened.
  let focused = null;
  let sheet = null;
  document.addEventListener("htmx:beforeSwap", () => {
    sheet = { open: document.querySelector("#score:popover-open"), top: document.querySelector(".latest")?.scrollTop };
    const active = document.activeElement;
    focused = active && active !== document.body && active.closest("#table, #steps") ? active.id || "?" : null;
  });
  document.addEventListener("htmx:afterSettle", () => {
    const messages = ["messages", "outcome", "decision"].map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim();
    if (messages) document.getElementById("live").textContent = messages;
    // The score sheet stays open, and where it was scrolled to.
    if (sheet?.open) document.getElementById("score")?.showPopover();
    document.querySelector(".latest")?.scrollTo(0, sheet?.top ?? 0);
    if (focused === null) return;
    const next = document.getElementById(focused);
    if (next && !next.disabled) next.focus();
    else (document.querySelector("#hand .fresh .card, #hand .fits .card, #hand .card") ?? document.querySelector("#outcome"))?.focus();
  });

  // If a request fails, the page says so and otherwise stays as it was.
  function trouble(words) {
    const notice = document.getElementById("trouble");
    notice.hidden = !words;
    notice.textContent = words;
  }
  document.addEventListener("htmx:sendError", () => trouble("The server does not answer; the game is kept. Start gin web again, then reload this page."));
  document.addEventListener("htmx:responseError", (event) => trouble(event.detail.xhr.responseText));
  document.addEventListener("htmx:afterOnLoad", (event) => { if (event.detail.xhr.status < 400) trouble(""); });

  // In the old way: browsers offer the new one to pages that come by TLS or from their own machine only.
  for (const button of document.querySelectorAll("[data-copies]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      document.getElementById(button.dataset.copies).select();
      if (document.execCommand("copy")) button.textContent = "Copied";
    });
  }

  // The game may have gone on in another window.
  function lookAgain() {
    const shown = table();
    if (shown && document.visibilityState === "visible" && !lifted) {
      htmx.ajax("GET", `table?at=${encodeURIComponent(shown.dataset.at)}`, { target: "#table", swap: "outerHTML" });
    }
  }
  document.addEventListener("visibilitychange", lookAgain);
  // A page restored by the back button shows the game as it was when the page was left.
  window.addEventListener("pageshow", (event) => { if (event.persisted) lookAgain(); });
})();
