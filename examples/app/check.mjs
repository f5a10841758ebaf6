// Checks the example against the Python package, and plays without a page: node check.mjs replay FILE.

import { createReadStream } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { strict as assert } from "node:assert";

const gin = createRequire(import.meta.url)("./gin.js");

/** Plays the engine's games (one JSON object a line), and compares everything at every step. */
async function replay(path) {
  const found = { games: 0, hands: 0, steps: 0 };
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const record = JSON.parse(line);
    const rules = gin.PRESETS[record.preset];
    for (const name in rules) assert.deepEqual(rules[name], record.rules[name], `rule ${name} of ${record.preset}`);
    const game = gin.newGame(rules, BigInt(record.key), record.luck.map(BigInt));
    for (const played of record.hands) {
      if (game.hand.phase === "over") gin.nextHand(game);
      replayHand(game, played);
      found.hands++;
      found.steps += played.steps.length;
    }
    const { isOver, winner, total } = game;
    assert.deepEqual({ isOver, winner, total }, record.end);
    found.games++;
  }
  return found;
}

function replayHand(game, played) {
  const { hand } = game;
  assert.deepEqual([hand.starter, hand.deck], [played.starter, played.deck]);
  for (const step of played.steps) {
    const where = `hand ${game.handNumber + 1}, actions ${hand.history}`;
    const { turn } = hand;
    assert.equal(turn, step.seat, where);
    assert.deepEqual(gin.legalActions(hand), step.legal, where);
    assert.deepEqual(hand.hands.map(gin.deadwoodOf), step.deadwood, where);
    for (const seat of [0, 1]) {
      const view = gin.viewOf(game, seat);
      const input = Buffer.from(step.inputs[seat], "base64");
      gin.encode(view).forEach((byte, i) => assert.equal(byte, input[i], `byte ${i} of seat ${seat}, ${where}`));
      assert.deepEqual([view.luck, view.handLuck], step.luck[seat].map(BigInt), where);
    }
    gin.play(hand, step.action);
  }
  gin.scoreHand(game);
  const { end, winner, knocker, points, deadwood, doubled, laid, spread } = hand;
  const melds = spread.map((meld) => gin.cardsOf(meld & ~laid));
  const result = { end, winner, knocker, points, deadwood, doubled, laid: gin.cardsOf(laid), spread: melds };
  assert.deepEqual({ ...result, score: game.score, boxes: game.boxes }, played.result);
}

const commands = { replay };
const [name, ...rest] = process.argv.slice(2);
console.log(JSON.stringify(await commands[name](...rest)));
