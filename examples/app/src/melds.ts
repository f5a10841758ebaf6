// Melds, deadwood, the knocker's spread and the defender's lay-offs, all exact.
//
// Once the sets are chosen, the best runs are clear: every stretch of three or more neighbours. So an arrangement is given by its sets,
// and the best one is found by trying every choice of sets. Of equals, the first counts; the order is part of the rules.

import { type Mask, bit, cardPoints, cardsOf, countOf, has, rankOf, suitsOf } from "./cards";

const COLUMN: Mask = 1n | (1n << 13n) | (1n << 26n) | (1n << 39n);

// Of every selection of a suit's 13 ranks: its points, and the cards that runs meld.
const POINTS = Array.from({ length: 8192 }, (_, ranks) => {
  let points = 0;
  for (let rank = 0; rank < 13; rank++) if ((ranks >> rank) & 1) points += cardPoints(rank);
  return points;
});
const RUNS = Array.from({ length: 8192 }, (_, ranks) => {
  const lowest = ranks & (ranks >> 1) & (ranks >> 2);
  return lowest | (lowest << 1) | (lowest << 2);
});

export const pointsOf = (cards: Mask): number => suitsOf(cards).reduce((sum, ranks) => sum + POINTS[ranks]!, 0);

/** The cards that runs alone meld. */
const runCards = (cards: Mask): Mask =>
  suitsOf(cards).reduce((found, ranks, suit) => found | (BigInt(RUNS[ranks]!) << BigInt(13 * suit)), 0n);

/** All cards of a meld's or card's rank. */
export const columnOf = (card: number): Mask => COLUMN << BigInt(rankOf(card));
const lowestOf = (cards: Mask): number => cardsOf(cards)[0]!;

/** Ranks of which three or four cards are present, ascending: the lowest three, which are all that eleven cards can hold. (With an upcard
 *  beside them there may be a fourth, which networks learned without.) */
function setRanks(cards: Mask): number[] {
  const [a, b, c, d] = suitsOf(cards) as [number, number, number, number];
  const ranks = (a & b & (c | d)) | (c & d & (a | b));
  return ranks ? cardsOf(BigInt(ranks)).slice(0, 3) : [];
}

/** Every choice of sets. Each rank has no set, all its cards or, of four, all but one in the order of suits; the last rank changes fastest. */
function arrangements(cards: Mask, ranks = setRanks(cards)): Mask[][] {
  const [rank, ...others] = ranks;
  if (rank === undefined) return [[]];
  const all = cards & columnOf(rank);
  const choices = countOf(all) === 4 ? [0n, all, ...cardsOf(all).map((card) => all & ~bit(card))] : [0n, all];
  const rest = arrangements(cards, others);
  return choices.flatMap((set) => rest.map((sets) => (set ? [set, ...sets] : sets)));
}

const union = (masks: Mask[]): Mask => masks.reduce((all, mask) => all | mask, 0n);

/** An arrangement of least deadwood: that deadwood, the sets, and the cards in melds. */
function bestArrangement(cards: Mask): { deadwood: number; sets: Mask[]; melded: Mask } {
  let best = { deadwood: Infinity, sets: [] as Mask[], melded: 0n };
  for (const sets of arrangements(cards)) {
    const inSets = union(sets);
    const melded = inSets | runCards(cards & ~inSets);
    const deadwood = pointsOf(cards & ~melded);
    if (deadwood < best.deadwood) best = { deadwood, sets, melded };
  }
  return best;
}

/** Least deadwood of at most eleven cards. */
export const deadwoodOf = (cards: Mask): number => bestArrangement(cards).deadwood;
/** The cards in melds in an arrangement of least deadwood. */
export const meldedCards = (cards: Mask): Mask => bestArrangement(cards).melded;

/** The cards of an eleven-card hand whose discard leaves at most `limit` points. */
export function knockDiscards(cards: Mask, limit: number): number[] {
  // A discard saves at most its points, which are at most 10.
  const total = deadwoodOf(cards);
  if (total - 10 > limit) return [];
  return cardsOf(cards).filter((card) => total - cardPoints(card) <= limit && deadwoodOf(cards & ~bit(card)) <= limit);
}

/** The melds of an arrangement: its sets, then the runs by suit. */
function meldsOf(cards: Mask, sets: Mask[]): Mask[] {
  const melds = [...sets];
  let run = 0n;
  const runs = runCards(cards & ~union(sets));
  for (const card of cardsOf(runs)) {
    if (run && (rankOf(card) === 0 || !has(run, card - 1))) {
      melds.push(run);
      run = 0n;
    }
    run |= bit(card);
  }
  return run ? [...melds, run] : melds;
}

/** The melds of an arrangement of least deadwood. */
export const bestMelds = (cards: Mask): Mask[] => meldsOf(cards, bestArrangement(cards).sets);

const isRun = (meld: Mask): boolean => has(meld, lowestOf(meld) + 1);

/** The cards next to a run, downwards or upwards, from the nearest to the end of the suit. */
function beyond(run: Mask, down: boolean): number[] {
  const cards = cardsOf(run);
  const found: number[] = [];
  if (down) for (let card = cards[0]!; rankOf(card) > 0; ) found.push(--card);
  else for (let card = cards[cards.length - 1]!; rankOf(card) < 12; ) found.push(++card);
  return found;
}

/** Every way to lay off cards of a mask on a meld: first nothing, last everything that fits. */
function layOffOptions(meld: Mask, cards: Mask): Mask[] {
  if (!isRun(meld)) {
    const fourth = cards & columnOf(lowestOf(meld)) & ~meld;
    return fourth ? [0n, fourth] : [0n];
  }
  const reach = (down: boolean): Mask[] => {
    const options = [0n];
    for (const card of beyond(meld, down)) {
      if (!has(cards, card)) break;
      options.push(options[options.length - 1]! | bit(card));
    }
    return options;
  };
  const ups = reach(false);
  return reach(true).flatMap((below) => ups.map((above) => below | above));
}

const fits = (meld: Mask, card: number): boolean => layOffOptions(meld, bit(card)).length > 1;

/** The cards of a mask that fit one of the knocker's melds. */
export const layable = (spread: Mask[], cards: Mask): number[] =>
  cardsOf(cards).filter((card) => spread.some((meld) => fits(meld, card)));

/** The lay-off that leaves the defender least deadwood, chosen together with the defender's own melds. */
export function bestLayOff(cards: Mask, spread: Mask[]): { laid: Mask; deadwood: number } {
  const choices = spread.reduce(
    (found, meld) => found.flatMap((laid) => layOffOptions(meld, cards).map((more) => laid | more)),
    [0n],
  );
  let best = { laid: 0n, deadwood: Infinity };
  for (const laid of choices) {
    const deadwood = deadwoodOf(cards & ~laid);
    if (deadwood < best.deadwood) best = { laid, deadwood };
  }
  return best;
}

/** The lay-off of the defender's deadwood alone: the defender's melds stay as they are. */
export function deadwoodLayOff(cards: Mask, spread: Mask[]): { laid: Mask; deadwood: number } {
  const loose = cards & ~meldedCards(cards);
  const laid = union(spread.map((meld) => layOffOptions(meld, loose).pop()!));
  return { laid, deadwood: pointsOf(loose & ~laid) };
}

/** The spread with a card laid off: on a run rather than on a set, since a run can be continued. */
export function withCard(spread: Mask[], card: number): Mask[] {
  const fitting = spread.map((meld, index) => ({ meld, index })).filter(({ meld }) => fits(meld, card));
  const chosen = fitting.filter(({ meld }) => isRun(meld)).pop() ?? fitting[0]!;
  return spread.map((meld, index) => (index === chosen.index ? meld | bit(card) : meld));
}

/** The spread of least deadwood and, among equals, with the least that the opponent is expected to lay off. */
export function bestSpread(cards: Mask, unseen: Mask, known: Mask): Mask[] {
  // The probability that the opponent holds an unseen card.
  const chance = (10 - countOf(known)) / Math.max(1, countOf(unseen));
  const chanceOf = (card: number): number => (has(known, card) ? 1 : has(unseen, card) ? chance : 0);
  const exposure = (meld: Mask): number => {
    let expected = 0;
    if (!isRun(meld)) {
      for (const card of cardsOf(columnOf(lowestOf(meld)) & ~meld)) expected += chanceOf(card) * cardPoints(card);
      return expected;
    }
    for (const down of [true, false]) {
      let reached = 1;
      for (const card of beyond(meld, down)) {
        reached *= chanceOf(card);
        expected += reached * cardPoints(card);
      }
    }
    return expected;
  };
  let best = { deadwood: Infinity, open: 0, melds: [] as Mask[] };
  for (const sets of arrangements(cards)) {
    const melds = meldsOf(cards, sets);
    const deadwood = pointsOf(cards & ~union(melds));
    if (deadwood > best.deadwood) continue;
    const open = melds.reduce((sum, meld) => sum + exposure(meld), 0);
    if (deadwood < best.deadwood || open < best.open) best = { deadwood, open, melds };
  }
  return best.melds;
}
