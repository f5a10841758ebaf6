// Cards as numbers and as masks. Card 13 * suit + rank: suits in the order spades, clubs, diamonds, hearts, ranks from the ace (0).

/** A set of cards: bit c stands for card c. */
export type Mask = bigint;

export const RANKS = "A23456789TJQK";
export const SUITS = "SCDH";
export const SUIT_SYMBOLS = "♠♣♦♥";
export const ALL_CARDS: Mask = (1n << 52n) - 1n;

export const rankOf = (card: number): number => card % 13;
export const suitOf = (card: number): number => Math.floor(card / 13);
export const cardName = (card: number): string => RANKS[rankOf(card)]! + SUITS[suitOf(card)]!;
/** Points of a card as deadwood: ace 1, two to ten their number, face cards 10. */
export const cardPoints = (card: number): number => Math.min(10, rankOf(card) + 1);

export const bit = (card: number): Mask => 1n << BigInt(card);
export const has = (cards: Mask, card: number): boolean => (cards & bit(card)) !== 0n;

/** The ranks held in each suit, 13 bits each. */
export const suitsOf = (cards: Mask): number[] => [0n, 13n, 26n, 39n].map((shift) => Number((cards >> shift) & 0x1fffn));

export const maskOf = (cards: Iterable<number>): Mask => {
  let mask = 0n;
  for (const card of cards) mask |= bit(card);
  return mask;
};

/** The cards of a mask in ascending order. */
export function cardsOf(cards: Mask): number[] {
  const found: number[] = [];
  suitsOf(cards).forEach((ranks, suit) => {
    for (let rank = 0; ranks >> rank; rank++) if ((ranks >> rank) & 1) found.push(13 * suit + rank);
  });
  return found;
}

export const countOf = (cards: Mask): number => cardsOf(cards).length;
