// Checks the example against the Python package, and plays without a page:
//     node cli.mjs replay FILE
//     node cli.mjs golden DIRECTORY...
//     node cli.mjs match level-1 level-3 dg-standard 500
// and writes the page's levels from exported ones, each a directory that `gin export LEVEL --app DIRECTORY` made:
//     node cli.mjs pack DIRECTORY...

import { createReadStream, readFileSync, writeFileSync } from "node:fs";
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

/** Reproduces the golden positions of exported levels: inputs to the byte, logits to 1e-4, actions, spreads and lay-offs exactly. */
function golden(...directories) {
  const found = { positions: 0, knocks: 0, logits: 0, probabilities: 0 };
  for (const directory of directories) {
    const level = addExported(directory);
    const { presets } = readApp(directory);
    for (const line of readLines(`${directory}/knocks.jsonl`)) {
      checkKnock(JSON.parse(line), presets, line);
      found.knocks++;
    }
    for (const line of readLines(`${directory}/golden.jsonl`)) {
      const expected = JSON.parse(line);
      const view = viewOfGolden(expected, presets);
      const input = gin.inputOf(view, level.behaviour);
      assert.deepEqual([...input], [...Buffer.from(expected.input, "base64")], line);
      gin.logitsOf(level.network, input).forEach((logit, i) => {
        found.logits = Math.max(found.logits, Math.abs(logit - expected.logits[i]));
      });
      const { action, policy } = gin.choose(level, view, BigInt(expected.seed));
      assert.equal(action, expected.action, line);
      view.legal.forEach((each, i) => {
        found.probabilities = Math.max(found.probabilities, Math.abs(policy[each] - expected.probabilities[i]));
      });
      found.positions++;
    }
  }
  assert(found.logits < 1e-4, `logits differ by ${found.logits}`);
  return found;
}

function checkKnock({ rules, knocker, defender, known, unseen, spread, laid_off, deadwood }, presets, line) {
  const melds = gin.bestSpread(...[knocker, unseen, known].map(gin.maskOf));
  assert.deepEqual(melds.map(gin.cardsOf), spread, line);
  const layOff = presets[rules].layoff === "deadwood-only" ? gin.deadwoodLayOff : gin.bestLayOff;
  const { laid, deadwood: left } = layOff(gin.maskOf(defender), melds);
  assert.deepEqual([gin.cardsOf(laid), [gin.deadwoodOf(gin.maskOf(knocker)), left]], [laid_off, deadwood], line);
}

function viewOfGolden({ view, luck, hand_luck }, presets) {
  const { drawn_hands, ...same } = view;
  const pair = (name) => view[name].map(gin.maskOf);
  const cards = { hand: gin.maskOf(view.hand), known: pair("known"), thrown: pair("thrown"), refused: pair("refused") };
  const words = { luck: BigInt(`0x${luck}`), handLuck: BigInt(`0x${hand_luck}`) };
  return { ...same, ...cards, ...words, rules: presets[view.rules], toMove: true, spread: [], drawnHands: drawn_hands };
}

const readLines = (path) => readFileSync(path, "utf8").trim().split("\n");

const readApp = (directory) => JSON.parse(readFileSync(`${directory}/app.json`, "utf8"));

function readNumbers(directory) {
  const { buffer, byteOffset, length } = readFileSync(`${directory}/network.bin`);
  return new Float32Array(buffer.slice(byteOffset, byteOffset + length));
}

/** An exported level, by way of the form in which the page has it. */
function addExported(directory) {
  const numbers = readNumbers(directory);
  const decoded = gin.decodeHalves(encodeHalves(numbers));
  assert.deepEqual(decoded, numbers, "the weights are not exact in half precision");
  gin.addLevel(readApp(directory), decoded);
  return gin.levels.at(-1);
}

const encodeHalves = (numbers) => Buffer.from(Uint16Array.from(numbers, toHalf).buffer).toString("base64");

function toHalf(value) {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size < 2 ** -14) return sign | Math.round(size * 2 ** 24);
  const exponent = Math.floor(Math.log2(size));
  return sign | (((exponent + 15) << 10) + Math.round((size / 2 ** exponent - 1) * 1024));
}

/** A page that is opened from a folder may not read other files, so its levels are a script. */
function pack(...directories) {
  const scripts = directories.map((directory) => {
    const { name, title, behaviour, layers } = readApp(directory);
    const about = JSON.stringify({ name, title, behaviour, layers });
    return `gin.addLevel(${about}, gin.decodeHalves("${encodeHalves(readNumbers(directory))}"));\n`;
  });
  writeFileSync(new URL("levels.js", import.meta.url), scripts.join(""));
  return { levels: scripts.length };
}

/** Plays hands of a preset between two of the page's levels, every deal twice with seats swapped: points per hand of the first. */
async function match(first, second, preset, hands) {
  globalThis.gin = gin;
  await import("./levels.js");
  const players = [first, second].map((name) => gin.levels.find((level) => level.name === name));
  const pairs = [];
  for (let pair = 0; pair < hands / 2; pair++) {
    const words = [1n, 2n, 3n, 4n, 5n].map((k) => gin.mix(gin.mix(BigInt(pair)) + k));
    pairs.push((playHand(players, preset, words) - playHand([...players].reverse(), preset, words)) / 2);
  }
  const mean = pairs.reduce((sum, points) => sum + points, 0) / pairs.length;
  const variance = pairs.reduce((sum, points) => sum + (points - mean) ** 2, 0) / (pairs.length - 1);
  return { hands: 2 * pairs.length, points: mean, standardError: Math.sqrt(variance / pairs.length) };
}

/** Points of seat 0 in the first hand of a game. */
function playHand(players, preset, [key, luck, otherLuck, ...seeds]) {
  const game = gin.newGame(gin.PRESETS[preset], key, [luck, otherLuck]);
  const { hand } = game;
  while (hand.phase !== "over") {
    const { turn } = hand;
    gin.play(hand, gin.choose(players[turn], gin.viewOf(game, turn), seeds[turn] & 0xffffffffn).action);
  }
  return hand.winner === null ? 0 : hand.winner === 0 ? hand.points : -hand.points;
}

const commands = { replay, golden, match, pack };
const [name, ...rest] = process.argv.slice(2);
console.log(JSON.stringify(await commands[name](...rest)));
