// What a strong formula thinks of a view, one draw ahead for every discard: 105 bytes that the levels' networks read beside the input.

import { type Mask, bit, cardPoints, cardsOf, countOf, has, maskOf, rankOf, suitOf, suitsOf } from "./cards";
import { KNOCK, UPCARD } from "./hand";
import { columnOf, deadwoodOf, meldedCards, pointsOf } from "./melds";
import { type View, pileCards } from "./view";

export const OUTLOOK_SIZE = 105;
// The formula's weights: of deadwood one draw ahead, and its decay from turn to turn; of a draw to gin; of ways to meld a card; of danger.
const AHEAD = 2.5;
const DECAY = 0.95;
const GIN = 60;
const WAYS = 2;
const DANGER = 18;
/** It knocks in its first turns, then only with gin. */
const KNOCK_TURNS = 4;

/** Bytes 0 to 51 by discard: 64 for the best, 4 less for each point of cost. 52 to 103: the same, falling exponentially. 104: take the upcard. */
export function outlookOf(view: View, remembered: Mask, notices: boolean): Uint8Array {
  const outlook = new Uint8Array(OUTLOOK_SIZE);
  if (view.phase === "discard") {
    const cards = [...new Set(view.legal.map((action) => action % KNOCK))];
    const costs = costsOf(view, cards, remembered, notices);
    const best = Math.min(...costs);
    cards.forEach((card, i) => {
      outlook[card] = Math.max(0, 64 - 4 * (costs[i]! - best));
      outlook[52 + card] = 64 * Math.exp(best - costs[i]!);
    });
  } else if (view.legal.includes(UPCARD) && wantsUpcard(view)) outlook[104] = 64;
  return outlook;
}

function costsOf(view: View, cards: number[], remembered: Mask, notices: boolean): number[] {
  const known = notices ? view.known[1] : 0n;
  // Forgotten cards count as live.
  const live = (view.unseen | pileCards(view) | view.known[1]) & ~(remembered | known);
  const cold = notices ? view.thrown[1] | view.refused[1] : 0n;
  const chance = (10 - countOf(known)) / Math.max(1, countOf(live));
  const chanceOf = (card: number): number => (has(known, card) ? 1 : has(live, card) ? chance : 0);
  const ahead = AHEAD * DECAY ** countOf(view.thrown[0]);
  return cards.map((card) => {
    const others = view.hand & ~bit(card);
    const left = deadwoodOf(others);
    const danger = DANGER * Math.min(1, dangerOf(card, chanceOf, cold));
    return left + ahead * deadwoodAhead(others, live, left) + danger + WAYS * waysOf(card, others, live);
  });
}

/** Deadwood after the best discard of eleven cards outside melds. */
function bestOfEleven(cards: Mask): number {
  const loose = cards & ~meldedCards(cards);
  return pointsOf(loose) - Math.max(0, ...cardsOf(loose).map(cardPoints));
}

/** Mean deadwood of ten cards after a draw from the live cards and a discard; gin counts as less than nothing. */
function deadwoodAhead(cards: Mask, live: Mask, left: number): number {
  const count = countOf(live);
  if (count === 0) return left;
  let gain = 0;
  for (const card of cardsOf(fillersOf(cards) & live)) {
    const after = bestOfEleven(cards | bit(card));
    gain += left - after + (after === 0 ? GIN : 0);
  }
  return left - gain / count;
}

/** All cards that make a meld with two cards of a mask, or extend one. */
function fillersOf(cards: Mask): Mask {
  let found = 0n;
  suitsOf(cards).forEach((ranks, suit) => {
    const neighbours = ranks & (ranks << 1);
    const outside = (neighbours << 1) | (neighbours >> 2) | ((ranks << 1) & (ranks >> 1));
    found |= BigInt(outside & 0x1fff) << BigInt(13 * suit);
  });
  for (let rank = 0; rank < 13; rank++) if (countOf(cards & columnOf(rank)) >= 2) found |= columnOf(rank);
  return found & ~cards;
}

/** The chance that each of two cards of the opponent's completes a set, or a run, with a discard; less near cards that it did not want. */
function dangerOf(card: number, chanceOf: (card: number) => number, cold: Mask): number {
  const column = columnOf(card) & ~bit(card);
  const [a, b, c] = cardsOf(column).map(chanceOf) as [number, number, number];
  const near = (distance: number): number[] => {
    const rank = rankOf(card) + distance;
    return rank < 0 || rank > 12 ? [] : [card + distance];
  };
  const chanceNear = (distance: number): number => chanceOf(near(distance)[0] ?? -1);
  const [below2, below1, above1, above2] = [-2, -1, 1, 2].map(chanceNear) as [number, number, number, number];
  let sets = a * b + b * c + a * c - 2 * a * b * c;
  let runs = below1 * below2 + below1 * above1 + above1 * above2;
  if (column & cold) sets *= 0.4;
  if (maskOf([-2, -1, 1, 2].flatMap(near)) & cold) runs *= 0.6;
  return (sets + runs) * (has(cold, card) ? 0.3 : 1);
}

/** The number of live cards that make a meld with a card and one other of a mask. */
function waysOf(card: number, cards: Mask, live: Mask): number {
  const place = rankOf(card);
  const ranks = suitsOf(cards)[suitOf(card)]!;
  const held = (distance: number): boolean => ((ranks << 2) & (1 << (place + 2 + distance))) !== 0;
  const wanted = new Set<number>();
  if (held(-1)) wanted.add(place - 2).add(place + 1);
  if (held(1)) wanted.add(place - 1).add(place + 2);
  if (held(-2)) wanted.add(place - 1);
  if (held(2)) wanted.add(place + 1);
  const inSuit = [...wanted].filter((rank) => rank >= 0 && rank < 13).map((rank) => 13 * suitOf(card) + rank);
  const inRank = cards & columnOf(card) ? columnOf(card) : 0n;
  return countOf((maskOf(inSuit) | inRank) & live);
}

/** Whether the formula takes the upcard: where it makes a meld that lowers the deadwood, or lets it knock. */
function wantsUpcard(view: View): boolean {
  const upcard = view.upcard!;
  const cards = view.hand | bit(upcard);
  const after = Math.min(...cardsOf(view.hand).map((card) => deadwoodOf(cards & ~bit(card))));
  if (after >= deadwoodOf(view.hand)) return false;
  if (fillersOf(view.hand) & bit(upcard)) return true;
  return after <= view.limit && after <= (countOf(view.thrown[0]) < KNOCK_TURNS ? 10 : 0);
}
