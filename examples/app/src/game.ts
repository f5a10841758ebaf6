// A game: hands up to the target, and the score sheet with boxes, bonus and shut-out.

import { type Hand, type Pair, type Seat, deal, other } from "./hand";
import { mix, shuffledDeck } from "./random";
import type { Rules } from "./rules";

export interface Game {
  rules: Rules;
  /** The deck of each hand follows from the key and the hand's number. */
  key: bigint;
  /** Private randomness of each seat's player. */
  luck: Pair<bigint>;
  hand: Hand;
  /** Hands dealt before this one. */
  handNumber: number;
  score: Pair<number>;
  /** Hands won. */
  boxes: Pair<number>;
  /** Hands drawn in a row. */
  drawnHands: number;
  isOver: boolean;
  winner: Seat | null;
  /** Final totals, bonuses included, once the game is over. */
  total: Pair<number>;
}

// Differs from the numbers of hands, so that the cut for the deal is independent of every deck.
const CUT = 0x5eed0f7ec07n;

export function newGame(rules: Rules, key: bigint, luck: Pair<bigint>): Game {
  const starter = rules.first_starter === "chance" ? (Number(mix(key ^ CUT) >> 63n) as Seat) : 0;
  return {
    rules,
    key,
    luck,
    hand: deal(rules, shuffledDeck(key, 0), starter),
    handNumber: 0,
    score: [0, 0],
    boxes: [0, 0],
    drawnHands: 0,
    isOver: false,
    winner: null,
    total: [0, 0],
  };
}

/** The seat that starts the next hand; after a hand that scored nothing, the same seat again. */
function nextStarter({ rules, winner, points, starter }: Hand): Seat {
  if (points === 0 || winner === null) return starter;
  const seats = { loser: other(winner), winner, alternate: other(starter), seat0: 0 as Seat };
  return seats[rules.next_starter];
}

export function nextHand(game: Game): void {
  const starter = nextStarter(game.hand);
  game.handNumber++;
  game.hand = deal(game.rules, shuffledDeck(game.key, game.handNumber), starter);
}

/** Adds the finished hand to the score, and ends the game if it is decided. Call it once for each hand. */
export function scoreHand(game: Game): void {
  const { winner, points } = game.hand;
  if (winner === null) {
    game.drawnHands++;
    if (game.drawnHands >= game.rules.max_drawn_hands) endGame(game, null);
    return;
  }
  game.drawnHands = 0;
  game.score[winner] += points;
  game.boxes[winner]++;
  if (game.score[winner] >= game.rules.target) endGame(game, winner);
}

const leader = ([mine, theirs]: Pair<number>): Seat | null => (mine === theirs ? null : mine > theirs ? 0 : 1);

/** `ended` is the seat that reached the target; nobody's bonuses are paid where none did. */
function endGame(game: Game, ended: Seat | null): void {
  const { rules, score, boxes } = game;
  const total = (game.total = [...score]);
  game.isOver = true;
  if (ended === null) {
    game.winner = leader(total);
  } else {
    const shutOut = boxes[other(ended)] === 0 ? rules.shutout : "none";
    total[ended] += rules.game_bonus;
    if (shutOut === "double-before-boxes") total[ended] *= 2;
    for (const seat of [0, 1] as const) total[seat] += rules.box_bonus * boxes[seat];
    if (shutOut === "double-after-boxes") total[ended] *= 2;
    if (shutOut === "bonus") total[ended] += rules.shutout_bonus;
    game.winner = rules.winner === "total" ? leader(total) : ended;
  }
  if (rules.net_score && game.winner !== null) {
    total[game.winner] -= total[other(game.winner)];
    total[other(game.winner)] = 0;
  }
}
