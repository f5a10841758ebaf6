// How a level chooses: by its network, its own preferences, and chance among close choices. Everything that a level does not notice or
// remember is blanked in the network's input. docs/app.md explains the numbers of its behaviour.

import { type Mask, bit, cardsOf, maskOf, rankOf, suitOf, suitsOf } from "./cards";
import { FACTS, encode, writePlane } from "./encoder";
import { KNOCK, NUM_ACTIONS, PASS, STOCK } from "./hand";
import { bestLayOff, columnOf, deadwoodOf } from "./melds";
import { type Network, type Shape, logitsOf, networkOf } from "./network";
import { mix, unit } from "./random";
import type { View } from "./view";

/** A level's behaviour as data. */
export interface Behaviour {
  remembered_discards: number;
  /** What is noticed of the opponent: 0 nothing, 1 what it takes, 2 everything. */
  noticed_actions: 0 | 1 | 2;
  temperature: number;
  draw_temperature: number;
  max_logit_gap: number;
  max_extra_deadwood: number;
  hand_taste: number;
}

export interface Level {
  name: string;
  title: string;
  behaviour: Behaviour;
  network: Network;
}

/** The levels that can be played; a script of exported levels adds them. */
export const levels: Level[] = [];

/** Adds a level: what app.json says, and the numbers of network.bin. */
export function addLevel(app: { name: string; title: string; behaviour: Behaviour; layers: Shape[] }, numbers: Float32Array): void {
  const { name, title, behaviour, layers } = app;
  levels.push({ name, title, behaviour, network: networkOf(layers, numbers) });
}

const NEVER = -1e9;

/** What the network reads: the view's input, with what is not remembered or noticed blanked. */
export function inputOf(view: View, { remembered_discards, noticed_actions }: Behaviour): Uint8Array {
  const input = encode(view);
  const forgotten = view.pile.length - remembered_discards;
  if (forgotten > 0) {
    const remembered = maskOf(view.pile.slice(forgotten));
    writePlane(input, 3, remembered);
    writePlane(input, 6, remembered & view.thrown[1]);
  }
  if (noticed_actions === 0) {
    writePlane(input, 4, 0n);
    writePlane(input, 6, 0n);
    input[FACTS + 20] = input[FACTS + 42] = 0;
  }
  if (noticed_actions < 2) writePlane(input, 7, 0n);
  return input;
}

/** Adds the level's preferences to the logits of discards and knocks, and rules out discards that leave too much deadwood. */
function prefer(view: View, behaviour: Behaviour, seed: bigint, logits: Float32Array): void {
  const word = mix(view.handLuck ^ mix(seed));
  const [sets, runs, knock] = [1n, 2n, 3n].map((k) => behaviour.hand_taste * unit(mix(word + k))) as [number, number, number];
  const discards = view.legal
    .filter((action) => action < KNOCK)
    .map((card) => ({ card, others: view.hand & ~bit(card), left: deadwoodOf(view.hand & ~bit(card)) }));
  const least = Math.min(...discards.map(({ left }) => left));
  const first = bestOf(logits, discards.map(({ card }) => card));
  for (const { card, others, left } of discards) {
    if (card !== first && left > least + behaviour.max_extra_deadwood) {
      logits[card] = NEVER;
      continue;
    }
    if (others & columnOf(card)) logits[card]! -= sets;
    if (hasNeighbour(card, others)) logits[card]! -= runs;
  }
  for (const action of view.legal) if (action >= KNOCK && action < STOCK) logits[action]! += knock;
}

function hasNeighbour(card: number, cards: Mask): boolean {
  const ranks = suitsOf(cards)[suitOf(card)]!;
  return (((ranks << 1) | (ranks >> 1)) & (1 << rankOf(card))) !== 0;
}

/** The first of some actions with the highest logit. */
const bestOf = (logits: Float32Array, actions: number[]): number =>
  actions.reduce((best, action) => (logits[action]! > logits[best]! ? action : best), actions[0]!);

/** A level's choice: the action, and the probability of each action (none where chance plays no part). */
export function choose(level: Level, view: View, seed: bigint): { action: number; policy: Float64Array } {
  const policy = new Float64Array(NUM_ACTIONS);
  if (view.phase === "layoff") {
    const { laid } = bestLayOff(view.hand, view.spread);
    return { action: cardsOf(laid).find((card) => view.legal.includes(card)) ?? PASS, policy };
  }
  const { behaviour, network } = level;
  const logits = logitsOf(network, inputOf(view, behaviour));
  // At the wall, a player who took the upcard can only knock.
  const discards = view.legal[0]! < KNOCK;
  if (discards) prefer(view, behaviour, seed, logits);
  const temperature = discards ? behaviour.temperature : behaviour.draw_temperature;
  const best = bestOf(logits, view.legal);
  if (temperature <= 0) return { action: best, policy };
  let action = best;
  let total = 0;
  let word = mix(view.luck ^ mix(seed));
  for (const each of view.legal) {
    const behind = logits[best]! - logits[each]!;
    if (behind > behaviour.max_logit_gap) continue;
    const weight = (policy[each] = Math.exp(-behind / temperature));
    total += weight;
    word = mix(word);
    // An action replaces the one held with probability weight / (sum of weights so far).
    if (unit(word) * total < weight) action = each;
  }
  return { action, policy: policy.map((weight) => weight / total) };
}
