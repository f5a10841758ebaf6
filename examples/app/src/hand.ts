// One hand at the table: the deal, the legal actions, and what each action does. Only this file and game.ts see both hands.

import { type Mask, ALL_CARDS, bit, cardName, cardPoints, cardsOf, maskOf, suitOf } from "./cards";
import {
  bestLayOff,
  bestSpread,
  deadwoodLayOff,
  deadwoodOf,
  knockDiscards,
  layable,
  pointsOf,
  withCard,
} from "./melds";
import type { Rules } from "./rules";

// Actions: 0 to 51 discard that card or lay it off, 52 to 103 knock with the discard of card `action - 52`; and these.
export const KNOCK = 52;
export const STOCK = 104;
export const UPCARD = 105;
export const PASS = 106;
export const NUM_ACTIONS = 107;

export type Phase = "upcard" | "draw" | "discard" | "layoff" | "wall" | "over";
export type End = "gin" | "knock" | "undercut" | "tie" | "stock" | "upcard-limit";
export type Seat = 0 | 1;
export type Pair<T> = [T, T];

/** Everything about a hand. Players get a view of it (view.ts). */
export interface Hand {
  rules: Rules;
  deck: number[];
  /** Index in the deck of the next card of the stock. */
  position: number;
  hands: Pair<Mask>;
  /** Cards that a seat took from the pile and still holds. */
  known: Pair<Mask>;
  /** Every card that a seat has discarded. */
  thrown: Pair<Mask>;
  /** Upcards that a seat could have taken and did not. */
  refused: Pair<Mask>;
  /** The discard pile from the bottom. */
  pile: number[];
  phase: Phase;
  turn: Seat;
  /** The seat that began the hand. */
  starter: Seat;
  /** Most deadwood to knock with. */
  limit: number;
  /** Whether points of this hand count twice. */
  doubled: boolean;
  /** The upcard taken, or the card drawn from the stock, in this turn. */
  taken: number | null;
  drawn: number | null;
  /** Upcards taken in the draw phase by both. */
  upcards: number;
  /** Turns in which a seat could have knocked and did not. */
  declined: Pair<number>;
  history: number[];
  /** The knocker's melds, with what is laid off on them, and the cards laid off. */
  spread: Mask[];
  laid: Mask;
  knocker: Seat | null;
  /** How the hand ended: who scores how many points, and the deadwood of both after lay-offs. */
  end: End | null;
  winner: Seat | null;
  points: number;
  deadwood: Pair<number>;
}

export const other = (seat: Seat): Seat => (seat ? 0 : 1);

/** Deals a hand: the starter's ten cards, the other seat's ten, the upcard, the stock. */
export function deal(rules: Rules, deck: number[], starter: Seat): Hand {
  if (rules.deal !== "traditional" || rules.first_upcard !== "offer") {
    throw new Error("this example deals ten cards to each seat and offers the first upcard");
  }
  const first = maskOf(deck.slice(0, 10));
  const second = maskOf(deck.slice(10, 20));
  const upcard = deck[20]!;
  let limit = rules.knock_limit;
  if (rules.oklahoma) {
    const value = cardPoints(upcard);
    limit = value === 1 && rules.oklahoma_ace === "gin" ? 0 : Math.min(value, limit);
  }
  return {
    rules,
    deck,
    position: 21,
    hands: starter ? [second, first] : [first, second],
    known: [0n, 0n],
    thrown: [0n, 0n],
    refused: [0n, 0n],
    pile: [upcard],
    phase: "upcard",
    turn: starter,
    starter,
    limit,
    doubled: rules.spade_doubles && suitOf(upcard) === 0,
    taken: null,
    drawn: null,
    upcards: 0,
    declined: [0, 0],
    history: [],
    spread: [],
    laid: 0n,
    knocker: null,
    end: null,
    winner: null,
    points: 0,
    deadwood: [0, 0],
  };
}

export const stockCount = (hand: Hand): number => 52 - hand.position;
export const upcardOf = (hand: Hand): number | null => hand.pile[hand.pile.length - 1] ?? null;
/** The stock counts as used up when two cards are left. */
const stockIsUsedUp = (hand: Hand): boolean => stockCount(hand) <= 2;

/** Discards with which eleven cards may knock, `taken` being the upcard just taken. */
function knocksOf(hand: Hand, cards: Mask, taken: number | null): number[] {
  const knocks = knockDiscards(cards, hand.limit);
  return hand.rules.discard_taken_upcard ? knocks : knocks.filter((card) => card !== taken);
}

/** The legal actions of the seat to move, ascending. */
export function legalActions(hand: Hand): number[] {
  const cards = hand.hands[hand.turn];
  switch (hand.phase) {
    case "upcard":
      return [UPCARD, PASS];
    case "draw":
      return [STOCK, UPCARD];
    case "wall": {
      const upcard = upcardOf(hand)!;
      return knocksOf(hand, cards | bit(upcard), upcard).length ? [UPCARD, PASS] : [PASS];
    }
    case "layoff":
      return [...layable(hand.spread, cards), PASS];
    case "discard": {
      const knocks = knocksOf(hand, cards, hand.taken);
      const knockActions = knocks.map((card) => KNOCK + card);
      // At the wall, the upcard may be taken only to knock.
      if (hand.rules.stock_end === "wall" && stockIsUsedUp(hand) && hand.drawn === null) return knockActions;
      let discards = cardsOf(cards);
      if (!hand.rules.discard_taken_upcard) discards = discards.filter((card) => card !== hand.taken);
      if (hand.rules.gin === "automatic") {
        // Gin ends the hand by itself, so such a card can be discarded only to go gin.
        discards = discards.filter((card) => !knocks.includes(card) || deadwoodOf(cards & ~bit(card)) > 0);
      }
      return [...discards, ...knockActions];
    }
    case "over":
      return [];
  }
}

/** Plays an action of the seat to move; throws an error if it is not legal. */
export function play(hand: Hand, action: number): void {
  if (!legalActions(hand).includes(action)) throw new Error(`action ${action} is not legal in the ${hand.phase} phase`);
  hand.history.push(action);
  if (hand.phase === "discard") discard(hand, action % KNOCK, action >= KNOCK);
  else if (hand.phase === "draw") draw(hand, action);
  else if (hand.phase === "upcard") answerOffer(hand, action);
  else if (hand.phase === "layoff") layOff(hand, action);
  else if (action === UPCARD) takeUpcard(hand);
  else finish(hand, "stock", null, 0);
}

function answerOffer(hand: Hand, action: number): void {
  const seat = hand.turn;
  if (action === UPCARD) return takeUpcard(hand);
  hand.refused[seat] |= bit(upcardOf(hand)!);
  hand.turn = other(seat);
  // When both have passed, the starter must draw from the stock.
  if (seat !== hand.starter) drawStock(hand);
}

function draw(hand: Hand, action: number): void {
  if (action === UPCARD) {
    // Nothing else would end a hand in which both keep taking upcards.
    hand.upcards++;
    return hand.upcards >= hand.rules.max_upcards ? finish(hand, "upcard-limit", null, 0) : takeUpcard(hand);
  }
  hand.refused[hand.turn] |= bit(upcardOf(hand)!);
  // This turn exists only where the last upcard may still be taken.
  if (stockIsUsedUp(hand)) finish(hand, "stock", null, 0);
  else drawStock(hand);
}

function drawStock(hand: Hand): void {
  const card = hand.deck[hand.position++]!;
  hand.hands[hand.turn] |= bit(card);
  hand.drawn = card;
  hand.phase = "discard";
}

function takeUpcard(hand: Hand): void {
  const card = hand.pile.pop()!;
  hand.hands[hand.turn] |= bit(card);
  hand.known[hand.turn] |= bit(card);
  hand.taken = card;
  hand.phase = "discard";
}

function discard(hand: Hand, card: number, knocks: boolean): void {
  const seat = hand.turn;
  if (!knocks && knocksOf(hand, hand.hands[seat], hand.taken).length) hand.declined[seat]++;
  hand.hands[seat] &= ~bit(card);
  hand.known[seat] &= ~bit(card);
  hand.thrown[seat] |= bit(card);
  hand.pile.push(card);
  hand.taken = hand.drawn = null;
  if (knocks) return knock(hand);
  hand.turn = other(seat);
  hand.phase = "draw";
  if (stockIsUsedUp(hand)) {
    if (hand.rules.stock_end === "void") finish(hand, "stock", null, 0);
    else if (hand.rules.stock_end === "wall") hand.phase = "wall";
  }
}

/** Cards that a seat cannot place: in the stock, or unknown in the opponent's hand. */
export const unseenBy = (hand: Hand, seat: Seat): Mask =>
  ALL_CARDS & ~hand.spread.reduce((seen, meld) => seen | meld, hand.hands[seat] | maskOf(hand.pile) | hand.known[other(seat)]);

function knock(hand: Hand): void {
  const seat = hand.turn;
  const defender = other(seat);
  const cards = hand.hands[seat];
  hand.knocker = seat;
  hand.spread = bestSpread(cards, unseenBy(hand, seat), hand.known[defender]);
  hand.deadwood[seat] = pointsOf(cards & ~hand.spread.reduce((all, meld) => all | meld, 0n));
  const theirs = hand.hands[defender];
  // Nothing is laid off on gin.
  if (hand.deadwood[seat] === 0) return score(hand);
  if (hand.rules.layoff === "by-hand") {
    if (!layable(hand.spread, theirs).length) return score(hand);
    hand.turn = defender;
    hand.phase = "layoff";
    return;
  }
  const { laid } = (hand.rules.layoff === "best" ? bestLayOff : deadwoodLayOff)(theirs, hand.spread);
  // A run takes its cards one after the other, so a card that fits now goes first.
  for (let rest = laid; rest; ) {
    const card = layable(hand.spread, rest)[0]!;
    putOnSpread(hand, defender, card);
    rest &= ~bit(card);
  }
  score(hand);
}

function putOnSpread(hand: Hand, seat: Seat, card: number): void {
  hand.spread = withCard(hand.spread, card);
  hand.hands[seat] &= ~bit(card);
  hand.known[seat] &= ~bit(card);
  hand.laid |= bit(card);
}

function layOff(hand: Hand, action: number): void {
  if (action !== PASS) putOnSpread(hand, hand.turn, action);
  if (action === PASS || !layable(hand.spread, hand.hands[hand.turn]).length) score(hand);
}

function score(hand: Hand): void {
  const { gin_bonus, undercut_bonus, undercut_on_tie } = hand.rules;
  const knocker = hand.knocker!;
  const defender = other(knocker);
  const mine = hand.deadwood[knocker];
  const theirs = (hand.deadwood[defender] = deadwoodOf(hand.hands[defender]));
  if (mine === 0) finish(hand, "gin", knocker, theirs + gin_bonus);
  else if (theirs > mine) finish(hand, "knock", knocker, theirs - mine);
  else if (theirs < mine || undercut_on_tie) finish(hand, "undercut", defender, mine - theirs + undercut_bonus);
  else finish(hand, "tie", null, 0);
}

function finish(hand: Hand, end: End, winner: Seat | null, points: number): void {
  hand.phase = "over";
  hand.end = end;
  hand.winner = winner;
  hand.points = hand.doubled ? 2 * points : points;
}

/** An action in words. */
export function actionName(action: number, phase: Phase): string {
  if (action === PASS) return phase === "layoff" ? "done" : "pass";
  if (action >= STOCK) return action === STOCK ? "draw stock" : "take";
  if (action >= KNOCK) return `knock ${cardName(action - KNOCK)}`;
  return `${phase === "layoff" ? "lay off" : "discard"} ${cardName(action)}`;
}
