// What one seat may see: all that a player ever gets. In every pair, the first is the observing seat and the second its opponent.

import { type Mask, maskOf } from "./cards";
import type { Game } from "./game";
import { type Pair, type Phase, type Seat, legalActions, other, stockCount, upcardOf } from "./hand";
import { mix } from "./random";
import type { Rules } from "./rules";

export interface View {
  rules: Rules;
  hand: Mask;
  known: Pair<Mask>;
  thrown: Pair<Mask>;
  refused: Pair<Mask>;
  pile: number[];
  spread: Mask[];
  /** My legal actions, ascending; none unless I am to move. */
  legal: number[];
  phase: Phase;
  toMove: boolean;
  /** Whether I began this hand. */
  started: boolean;
  limit: number;
  doubled: boolean;
  stock: number;
  upcard: number | null;
  /** The upcard taken in this turn by the seat to move, and the card that I drew in this turn. */
  taken: number | null;
  drawn: number | null;
  upcards: number;
  /** Actions so far in this hand. */
  actions: number;
  /** Turns in which I could have knocked and did not. */
  declined: number;
  score: Pair<number>;
  boxes: Pair<number>;
  drawnHands: number;
  /** Random words of my own, for this decision and for the whole hand. */
  luck: bigint;
  handLuck: bigint;
}

const HAND_LUCK = 0x082efa98ec4e6c89n;

export function viewOf(game: Game, seat: Seat): View {
  const { hand } = game;
  const mineFirst = <T>(pair: Pair<T>): Pair<T> => [pair[seat], pair[other(seat)]];
  const toMove = hand.turn === seat && hand.phase !== "over";
  const number = BigInt(game.handNumber);
  return {
    rules: hand.rules,
    hand: hand.hands[seat],
    known: mineFirst(hand.known),
    thrown: mineFirst(hand.thrown),
    refused: mineFirst(hand.refused),
    pile: [...hand.pile],
    spread: hand.spread,
    legal: toMove ? legalActions(hand) : [],
    phase: hand.phase,
    toMove,
    started: hand.starter === seat,
    limit: hand.limit,
    doubled: hand.doubled,
    stock: stockCount(hand),
    upcard: upcardOf(hand),
    taken: hand.taken,
    drawn: hand.turn === seat ? hand.drawn : null,
    upcards: hand.upcards,
    actions: hand.history.length,
    declined: hand.declined[seat],
    score: mineFirst(game.score),
    boxes: mineFirst(game.boxes),
    drawnHands: game.drawnHands,
    luck: mix(game.luck[seat] ^ mix(number * 256n + BigInt(hand.history.length))),
    handLuck: mix(game.luck[seat] ^ mix(number ^ HAND_LUCK)),
  };
}

export const pileCards = (view: View): Mask => maskOf(view.pile);
