// The page: a table for one person against a level. Everything about the game comes from gin.js, the networks from levels.js.

import type * as Gin from "./gin";

declare const gin: typeof Gin;

const ME = 0;
const RANK_WORDS = "ace two three four five six seven eight nine ten jack queen king".split(" ");
const SUIT_WORDS = ["spades", "clubs", "diamonds", "hearts"];
const RULE_WORDS: Record<Gin.Preset, string> = {
  "dg-standard": "Standard",
  "gr-oklahoma": "Oklahoma",
  gc: "Lay off by hand",
};
const DRAWN_WORDS: Partial<Record<Gin.End, string>> = {
  tie: "Equal deadwood: nobody scores.",
  stock: "The stock is used up: nobody scores.",
  "upcard-limit": "Too many upcards were taken: nobody scores.",
};

let game: Gin.Game;
let level: Gin.Level;
let seed: bigint;
let selected: number | null = null;
let events: string[] = [];

const byId = (id: string): HTMLElement => document.getElementById(id)!;
const choice = (id: string): HTMLSelectElement => byId(id) as HTMLSelectElement;
const short = (card: number): string => gin.RANKS[gin.rankOf(card)]!.replace("T", "10") + gin.SUIT_SYMBOLS[gin.suitOf(card)]!;
const titleOf = ({ title }: Gin.Level): string => title[0]!.toUpperCase() + title.slice(1);
const name = (seat: Gin.Seat): string => (seat === ME ? "You" : titleOf(level));

function startGame(): void {
  level = gin.levels[choice("level").selectedIndex]!;
  const rules = gin.PRESETS[choice("rules").value as Gin.Preset];
  seed = gin.randomWord();
  game = gin.newGame(rules, gin.randomWord(), [gin.randomWord(), gin.randomWord()]);
  events = [];
  advance();
}

function nextHand(): void {
  gin.nextHand(game);
  events = [];
  advance();
}

/** Plays my action, then the level's until I am to move. */
function act(action: number): void {
  events = [];
  gin.play(game.hand, action);
  advance();
}

function advance(): void {
  const { hand } = game;
  selected = null;
  while (hand.phase !== "over" && hand.turn !== ME) {
    const { action } = gin.choose(level, gin.viewOf(game, hand.turn), seed);
    events.push(describe(action, hand));
    gin.play(hand, action);
  }
  if (hand.phase === "over") gin.scoreHand(game);
  render();
}

/** What the level does, in words. */
function describe(action: number, hand: Gin.Hand): string {
  if (action === gin.PASS) return hand.phase === "layoff" ? "is done" : "passes";
  if (action === gin.STOCK) return "draws from the stock";
  if (action === gin.UPCARD) return `takes ${short(gin.upcardOf(hand)!)}`;
  if (action >= gin.KNOCK) return `knocks with ${short(action - gin.KNOCK)}`;
  return `${hand.phase === "layoff" ? "lays off" : "discards"} ${short(action)}`;
}

function button(text: string, onClick: () => void, id: string): HTMLButtonElement {
  const made = document.createElement("button");
  made.textContent = text;
  made.dataset["id"] = id;
  made.onclick = onClick;
  return made;
}

/** A card that can be pressed where there is something to do with it. */
function cardButton(card: number, onClick: (() => void) | null, melded = false): HTMLButtonElement {
  const made = button(short(card), onClick ?? (() => {}), `card-${card}`);
  made.className = `card suit-${gin.suitOf(card)}`;
  made.classList.toggle("melded", melded);
  made.disabled = onClick === null;
  const words = `${RANK_WORDS[gin.rankOf(card)]} of ${SUIT_WORDS[gin.suitOf(card)]}`;
  made.setAttribute("aria-label", melded ? `${words}, in a meld` : words);
  return made;
}

/** The melds of a hand, and its deadwood. */
function grouped(cards: Gin.Mask, melds = gin.bestMelds(cards)): { melds: number[][]; loose: number[] } {
  const loose = melds.reduce((rest, meld) => rest & ~meld, cards);
  return { melds: melds.map(gin.cardsOf), loose: gin.cardsOf(loose) };
}

function render(): void {
  const focused = (document.activeElement as HTMLElement | null)?.dataset["id"];
  renderTable();
  byId("hand").replaceChildren(...handCards());
  // Once both hands lie open, mine is among them.
  byId("hand").hidden = game.hand.phase === "over" && game.hand.knocker !== null;
  byId("actions").replaceChildren(...actionButtons());
  byId("status").textContent = statusText();
  byId("score").textContent = `You ${game.score[ME]}, ${name(1)} ${game.score[1]}, to ${game.rules.target}`;
  if (focused) document.querySelector<HTMLElement>(`[data-id="${focused}"]`)?.focus();
}

function renderTable(): void {
  const { hand } = game;
  const legal = myActions();
  const upcard = gin.upcardOf(hand);
  const stock = button(String(gin.stockCount(hand)), () => act(gin.STOCK), "stock");
  stock.className = "card back";
  stock.disabled = !legal.includes(gin.STOCK);
  stock.setAttribute("aria-label", `stock, ${gin.stockCount(hand)} cards`);
  const pile = upcard === null ? [] : [cardButton(upcard, legal.includes(gin.UPCARD) ? () => act(gin.UPCARD) : null)];
  byId("piles").replaceChildren(stock, ...pile);
  byId("shown").replaceChildren(...shownCards());
  byId("limit").textContent = `${hand.limit ? `Knock with ${hand.limit} or less` : "Gin only"}${hand.doubled ? ", points count twice" : ""}`;
}

/** Cards that lie open: the knocker's in the lay-off, both hands after a knock. */
function shownCards(): HTMLElement[] {
  const { hand } = game;
  if (hand.knocker === null) return [];
  const row = (text: string, groups: number[][]): HTMLElement => {
    const made = document.createElement("p");
    made.append(`${text}: `, groups.map((cards) => cards.map(short).join(" ")).join(" · ") || "–");
    return made;
  };
  const knocked = grouped(hand.hands[hand.knocker], hand.spread);
  const rows = [row(`${name(hand.knocker)}, melds`, knocked.melds), row("Deadwood", [knocked.loose])];
  if (hand.phase === "over") {
    const defender = gin.other(hand.knocker);
    const defended = grouped(hand.hands[defender]);
    rows.push(row(`${name(defender)}, melds`, defended.melds), row("Deadwood", [defended.loose]));
    if (hand.laid) rows.push(row("Laid off", [gin.cardsOf(hand.laid)]));
  }
  return rows;
}

const myActions = (): number[] => (game.hand.turn === ME ? gin.legalActions(game.hand) : []);

function handCards(): HTMLElement[] {
  const { hand } = game;
  const { melds, loose } = grouped(hand.hands[ME]);
  const legal = myActions();
  const press = (card: number): (() => void) | null => {
    if (hand.phase === "layoff") return legal.includes(card) ? () => act(card) : null;
    if (!legal.includes(card) && !legal.includes(gin.KNOCK + card)) return null;
    return () => {
      selected = selected === card ? null : card;
      render();
    };
  };
  const cards = [...melds.flat().map((card) => [card, true] as const), ...loose.map((card) => [card, false] as const)];
  return cards.map(([card, melded]) => {
    const made = cardButton(card, press(card), melded);
    made.classList.toggle("fresh", card === hand.drawn || card === hand.taken);
    if (hand.phase === "discard") made.setAttribute("aria-pressed", String(card === selected));
    return made;
  });
}

function actionButtons(): HTMLElement[] {
  const { hand } = game;
  if (game.isOver) return [button("New game", startGame, "new")];
  if (hand.phase === "over") return [button("Next hand", nextHand, "next")];
  const words: Record<number, string> = {
    [gin.STOCK]: "Draw",
    [gin.UPCARD]: `Take ${short(gin.upcardOf(hand) ?? 0)}`,
    [gin.PASS]: hand.phase === "layoff" ? "Done" : "Pass",
  };
  if (selected !== null) {
    const left = gin.deadwoodOf(hand.hands[ME] & ~gin.bit(selected));
    words[selected] = `Discard ${short(selected)}`;
    words[gin.KNOCK + selected] = left === 0 ? "Gin" : `Knock with ${left}`;
  }
  return myActions()
    .filter((action) => action in words)
    .map((action) => button(words[action]!, () => act(action), `action-${action}`));
}

function statusText(): string {
  const { hand } = game;
  const done = events.length ? `${name(1)} ${events.join(", ")}. ` : "";
  if (hand.phase === "over") return done + resultText();
  const todo: Partial<Record<Gin.Phase, string>> = {
    upcard: "Take the upcard, or pass.",
    draw: "Draw from the stock, or take the upcard.",
    discard: `Choose a card to discard; your deadwood is ${gin.deadwoodOf(hand.hands[ME])}.`,
    layoff: "Lay off cards on the melds above.",
    wall: "The stock is used up: take the upcard to knock, or pass.",
  };
  return done + todo[hand.phase];
}

function resultText(): string {
  const { end, winner, points, knocker, deadwood } = game.hand;
  if (winner === null) return DRAWN_WORDS[end!]!;
  const sides = `${deadwood[knocker!]} against ${deadwood[gin.other(knocker!)]}`;
  const what = end === "undercut" ? "Undercut" : end === "gin" ? "Gin" : "Knock";
  const hand = `${what}, ${sides}: ${points} points to ${winner === ME ? "you" : name(1)}.`;
  if (!game.isOver) return hand;
  const won = game.winner === null ? "The game is drawn" : game.winner === ME ? "You win the game" : `${name(1)} wins the game`;
  return `${hand} ${won}, ${game.total[ME]} to ${game.total[1]}.`;
}

for (const preset of Object.keys(gin.PRESETS) as Gin.Preset[]) choice("rules").add(new Option(RULE_WORDS[preset], preset));
for (const each of gin.levels) choice("level").add(new Option(titleOf(each), each.name));
byId("start").onclick = startGame;
startGame();
