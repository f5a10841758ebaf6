// A view as the 520 bytes that networks read: ten planes of 52 cells. Nine hold cards as 0 and 1, the last one holds small numbers.
// docs/app.md explains every byte.

import { type Mask, bit, cardsOf, countOf, has } from "./cards";
import { KNOCK, STOCK } from "./hand";
import { deadwoodOf, meldedCards, pointsOf } from "./melds";
import { type View, pileCards } from "./view";

export const INPUT_SIZE = 520;
/** The first byte of the plane of numbers. */
export const FACTS = 9 * 52;
const MAX_POINTS = 250;

const clipped = (points: number): number => Math.min(Math.max(points, 0), MAX_POINTS);

export function writePlane(input: Uint8Array, plane: number, cards: Mask): void {
  input.fill(0, 52 * plane, 52 * plane + 52);
  for (const card of cardsOf(cards)) input[52 * plane + card] = 1;
}

export function encode(view: View): Uint8Array {
  const input = new Uint8Array(INPUT_SIZE);
  const upcard = view.upcard === null ? 0n : bit(view.upcard);
  const fresh = view.toMove && view.taken !== null ? view.taken : view.drawn;
  const planes: Mask[] = [
    view.hand,
    meldedCards(view.hand),
    upcard,
    pileCards(view),
    view.known[1],
    view.known[0],
    view.thrown[1],
    view.refused[1],
    fresh === null ? 0n : bit(fresh),
  ];
  planes.forEach((cards, plane) => writePlane(input, plane, cards));
  input.set([...situation(view), ...rulesOf(view), ...rest(view)].map(Number), FACTS);
  return input;
}

function situation(view: View): (number | boolean)[] {
  const { hand, phase, rules, upcard, score, boxes } = view;
  const knocks = view.legal.filter((action) => action >= KNOCK && action < STOCK);
  const leastKnock = Math.min(...knocks.map((action) => deadwoodOf(hand & ~bit(action - KNOCK))));
  return [
    phase === "upcard",
    phase === "draw",
    phase === "discard",
    phase === "wall",
    view.toMove,
    view.started,
    view.doubled,
    phase === "upcard" && view.refused[1] !== 0n,
    view.toMove && view.taken !== null,
    view.stock,
    view.actions,
    view.upcards,
    view.limit,
    view.limit === 0,
    pointsOf(hand),
    deadwoodOf(hand),
    knocks.length > 0,
    knocks.length ? leastKnock : 0,
    leastKnock === 0,
    upcard !== null && !has(hand, upcard) && has(meldedCards(hand | bit(upcard)), upcard),
    countOf(view.known[1]),
    countOf(view.known[0]),
    clipped(score[0]),
    clipped(score[1]),
    clipped(rules.target - score[0]),
    clipped(rules.target - score[1]),
    boxes[0],
    boxes[1],
  ];
}

function rulesOf({ rules }: View): (number | boolean)[] {
  return [
    rules.gin_bonus,
    rules.undercut_bonus,
    rules.undercut_on_tie,
    Math.min(rules.game_bonus, MAX_POINTS),
    rules.box_bonus,
    rules.shutout !== "none",
    rules.winner === "total",
    rules.stock_end === "last-upcard",
    rules.stock_end === "wall",
    rules.deal === "eleven-ten",
    rules.gin === "automatic",
    rules.discard_taken_upcard,
    rules.layoff === "deadwood-only",
    // The first discard sets the limit: only in deals of eleven cards.
    false,
  ];
}

const rest = (view: View): (number | boolean)[] => [view.known[1] !== 0n, view.drawnHands, view.declined];
