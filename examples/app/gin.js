"use strict";
var gin = (() => {
  var __defProp = Object.defineProperty;
  var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
  var __getOwnPropNames = Object.getOwnPropertyNames;
  var __hasOwnProp = Object.prototype.hasOwnProperty;
  var __export = (target, all) => {
    for (var name in all)
      __defProp(target, name, { get: all[name], enumerable: true });
  };
  var __copyProps = (to, from, except, desc) => {
    if (from && typeof from === "object" || typeof from === "function") {
      for (let key of __getOwnPropNames(from))
        if (!__hasOwnProp.call(to, key) && key !== except)
          __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
    }
    return to;
  };
  var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);

  // src/gin.ts
  var gin_exports = {};
  __export(gin_exports, {
    ALL_CARDS: () => ALL_CARDS,
    FACTS: () => FACTS,
    INPUT_SIZE: () => INPUT_SIZE,
    KNOCK: () => KNOCK,
    NUM_ACTIONS: () => NUM_ACTIONS,
    PASS: () => PASS,
    PRESETS: () => PRESETS,
    RANKS: () => RANKS,
    STOCK: () => STOCK,
    SUITS: () => SUITS,
    SUIT_SYMBOLS: () => SUIT_SYMBOLS,
    UPCARD: () => UPCARD,
    actionName: () => actionName,
    addLevel: () => addLevel,
    bestLayOff: () => bestLayOff,
    bestMelds: () => bestMelds,
    bestSpread: () => bestSpread,
    bit: () => bit,
    cardName: () => cardName,
    cardPoints: () => cardPoints,
    cardsOf: () => cardsOf,
    choose: () => choose,
    columnOf: () => columnOf,
    countOf: () => countOf,
    deadwoodLayOff: () => deadwoodLayOff,
    deadwoodOf: () => deadwoodOf,
    deal: () => deal,
    decodeHalves: () => decodeHalves,
    encode: () => encode,
    has: () => has,
    inputOf: () => inputOf,
    knockDiscards: () => knockDiscards,
    layable: () => layable,
    legalActions: () => legalActions,
    levels: () => levels,
    logitsOf: () => logitsOf,
    maskOf: () => maskOf,
    meldedCards: () => meldedCards,
    mix: () => mix,
    networkOf: () => networkOf,
    newGame: () => newGame,
    nextHand: () => nextHand,
    other: () => other,
    pileCards: () => pileCards,
    play: () => play,
    pointsOf: () => pointsOf,
    randomWord: () => randomWord,
    rankOf: () => rankOf,
    scoreHand: () => scoreHand,
    shuffledDeck: () => shuffledDeck,
    stockCount: () => stockCount,
    suitOf: () => suitOf,
    suitsOf: () => suitsOf,
    unit: () => unit,
    unseenBy: () => unseenBy,
    upcardOf: () => upcardOf,
    viewOf: () => viewOf,
    withCard: () => withCard,
    writePlane: () => writePlane
  });

  // src/cards.ts
  var RANKS = "A23456789TJQK";
  var SUITS = "SCDH";
  var SUIT_SYMBOLS = "♠♣♦♥";
  var ALL_CARDS = (1n << 52n) - 1n;
  var rankOf = (card) => card % 13;
  var suitOf = (card) => Math.floor(card / 13);
  var cardName = (card) => RANKS[rankOf(card)] + SUITS[suitOf(card)];
  var cardPoints = (card) => Math.min(10, rankOf(card) + 1);
  var bit = (card) => 1n << BigInt(card);
  var has = (cards, card) => (cards & bit(card)) !== 0n;
  var suitsOf = (cards) => [0n, 13n, 26n, 39n].map((shift) => Number(cards >> shift & 0x1fffn));
  var maskOf = (cards) => {
    let mask = 0n;
    for (const card of cards) mask |= bit(card);
    return mask;
  };
  function cardsOf(cards) {
    const found = [];
    suitsOf(cards).forEach((ranks, suit) => {
      for (let rank = 0; ranks >> rank; rank++) if (ranks >> rank & 1) found.push(13 * suit + rank);
    });
    return found;
  }
  var countOf = (cards) => cardsOf(cards).length;

  // src/melds.ts
  var COLUMN = 1n | 1n << 13n | 1n << 26n | 1n << 39n;
  var POINTS = Array.from({ length: 8192 }, (_, ranks) => {
    let points = 0;
    for (let rank = 0; rank < 13; rank++) if (ranks >> rank & 1) points += cardPoints(rank);
    return points;
  });
  var RUNS = Array.from({ length: 8192 }, (_, ranks) => {
    const lowest = ranks & ranks >> 1 & ranks >> 2;
    return lowest | lowest << 1 | lowest << 2;
  });
  var pointsOf = (cards) => suitsOf(cards).reduce((sum, ranks) => sum + POINTS[ranks], 0);
  var runCards = (cards) => suitsOf(cards).reduce((found, ranks, suit) => found | BigInt(RUNS[ranks]) << BigInt(13 * suit), 0n);
  var columnOf = (card) => COLUMN << BigInt(rankOf(card));
  var lowestOf = (cards) => cardsOf(cards)[0];
  function setRanks(cards) {
    const [a, b, c, d] = suitsOf(cards);
    const ranks = a & b & (c | d) | c & d & (a | b);
    return ranks ? cardsOf(BigInt(ranks)).slice(0, 3) : [];
  }
  function arrangements(cards, ranks = setRanks(cards)) {
    const [rank, ...others] = ranks;
    if (rank === void 0) return [[]];
    const all = cards & columnOf(rank);
    const choices = countOf(all) === 4 ? [0n, all, ...cardsOf(all).map((card) => all & ~bit(card))] : [0n, all];
    const rest2 = arrangements(cards, others);
    return choices.flatMap((set) => rest2.map((sets) => set ? [set, ...sets] : sets));
  }
  var union = (masks) => masks.reduce((all, mask) => all | mask, 0n);
  function bestArrangement(cards) {
    let best = { deadwood: Infinity, sets: [], melded: 0n };
    for (const sets of arrangements(cards)) {
      const inSets = union(sets);
      const melded = inSets | runCards(cards & ~inSets);
      const deadwood = pointsOf(cards & ~melded);
      if (deadwood < best.deadwood) best = { deadwood, sets, melded };
    }
    return best;
  }
  var deadwoodOf = (cards) => bestArrangement(cards).deadwood;
  var meldedCards = (cards) => bestArrangement(cards).melded;
  function knockDiscards(cards, limit) {
    const total = deadwoodOf(cards);
    if (total - 10 > limit) return [];
    return cardsOf(cards).filter((card) => total - cardPoints(card) <= limit && deadwoodOf(cards & ~bit(card)) <= limit);
  }
  function meldsOf(cards, sets) {
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
  var bestMelds = (cards) => meldsOf(cards, bestArrangement(cards).sets);
  var isRun = (meld) => has(meld, lowestOf(meld) + 1);
  function beyond(run, down) {
    const cards = cardsOf(run);
    const found = [];
    if (down) for (let card = cards[0]; rankOf(card) > 0; ) found.push(--card);
    else for (let card = cards[cards.length - 1]; rankOf(card) < 12; ) found.push(++card);
    return found;
  }
  function layOffOptions(meld, cards) {
    if (!isRun(meld)) {
      const fourth = cards & columnOf(lowestOf(meld)) & ~meld;
      return fourth ? [0n, fourth] : [0n];
    }
    const reach = (down) => {
      const options = [0n];
      for (const card of beyond(meld, down)) {
        if (!has(cards, card)) break;
        options.push(options[options.length - 1] | bit(card));
      }
      return options;
    };
    const ups = reach(false);
    return reach(true).flatMap((below) => ups.map((above) => below | above));
  }
  var fits = (meld, card) => layOffOptions(meld, bit(card)).length > 1;
  var layable = (spread, cards) => cardsOf(cards).filter((card) => spread.some((meld) => fits(meld, card)));
  function bestLayOff(cards, spread) {
    const choices = spread.reduce(
      (found, meld) => found.flatMap((laid) => layOffOptions(meld, cards).map((more) => laid | more)),
      [0n]
    );
    let best = { laid: 0n, deadwood: Infinity };
    for (const laid of choices) {
      const deadwood = deadwoodOf(cards & ~laid);
      if (deadwood < best.deadwood) best = { laid, deadwood };
    }
    return best;
  }
  function deadwoodLayOff(cards, spread) {
    const loose = cards & ~meldedCards(cards);
    const laid = union(spread.map((meld) => layOffOptions(meld, loose).pop()));
    return { laid, deadwood: pointsOf(loose & ~laid) };
  }
  function withCard(spread, card) {
    const fitting = spread.map((meld, index) => ({ meld, index })).filter(({ meld }) => fits(meld, card));
    const chosen = fitting.filter(({ meld }) => isRun(meld)).pop() ?? fitting[0];
    return spread.map((meld, index) => index === chosen.index ? meld | bit(card) : meld);
  }
  function bestSpread(cards, unseen, known) {
    const chance = (10 - countOf(known)) / Math.max(1, countOf(unseen));
    const chanceOf = (card) => has(known, card) ? 1 : has(unseen, card) ? chance : 0;
    const exposure = (meld) => {
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
    let best = { deadwood: Infinity, open: 0, melds: [] };
    for (const sets of arrangements(cards)) {
      const melds = meldsOf(cards, sets);
      const deadwood = pointsOf(cards & ~union(melds));
      if (deadwood > best.deadwood) continue;
      const open = melds.reduce((sum, meld) => sum + exposure(meld), 0);
      if (deadwood < best.deadwood || open < best.open) best = { deadwood, open, melds };
    }
    return best.melds;
  }

  // src/hand.ts
  var KNOCK = 52;
  var STOCK = 104;
  var UPCARD = 105;
  var PASS = 106;
  var NUM_ACTIONS = 107;
  var other = (seat) => seat ? 0 : 1;
  function deal(rules, deck, starter) {
    if (rules.deal !== "traditional" || rules.first_upcard !== "offer") {
      throw new Error("this example deals ten cards to each seat and offers the first upcard");
    }
    const first = maskOf(deck.slice(0, 10));
    const second = maskOf(deck.slice(10, 20));
    const upcard = deck[20];
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
      deadwood: [0, 0]
    };
  }
  var stockCount = (hand) => 52 - hand.position;
  var upcardOf = (hand) => hand.pile[hand.pile.length - 1] ?? null;
  var stockIsUsedUp = (hand) => stockCount(hand) <= 2;
  function knocksOf(hand, cards, taken) {
    const knocks = knockDiscards(cards, hand.limit);
    return hand.rules.discard_taken_upcard ? knocks : knocks.filter((card) => card !== taken);
  }
  function legalActions(hand) {
    const cards = hand.hands[hand.turn];
    switch (hand.phase) {
      case "upcard":
        return [UPCARD, PASS];
      case "draw":
        return [STOCK, UPCARD];
      case "wall": {
        const upcard = upcardOf(hand);
        return knocksOf(hand, cards | bit(upcard), upcard).length ? [UPCARD, PASS] : [PASS];
      }
      case "layoff":
        return [...layable(hand.spread, cards), PASS];
      case "discard": {
        const knocks = knocksOf(hand, cards, hand.taken);
        const knockActions = knocks.map((card) => KNOCK + card);
        if (hand.rules.stock_end === "wall" && stockIsUsedUp(hand) && hand.drawn === null) return knockActions;
        let discards = cardsOf(cards);
        if (!hand.rules.discard_taken_upcard) discards = discards.filter((card) => card !== hand.taken);
        if (hand.rules.gin === "automatic") {
          discards = discards.filter((card) => !knocks.includes(card) || deadwoodOf(cards & ~bit(card)) > 0);
        }
        return [...discards, ...knockActions];
      }
      case "over":
        return [];
    }
  }
  function play(hand, action) {
    if (!legalActions(hand).includes(action)) throw new Error(`action ${action} is not legal in the ${hand.phase} phase`);
    hand.history.push(action);
    if (hand.phase === "discard") discard(hand, action % KNOCK, action >= KNOCK);
    else if (hand.phase === "draw") draw(hand, action);
    else if (hand.phase === "upcard") answerOffer(hand, action);
    else if (hand.phase === "layoff") layOff(hand, action);
    else if (action === UPCARD) takeUpcard(hand);
    else finish(hand, "stock", null, 0);
  }
  function answerOffer(hand, action) {
    const seat = hand.turn;
    if (action === UPCARD) return takeUpcard(hand);
    hand.refused[seat] |= bit(upcardOf(hand));
    hand.turn = other(seat);
    if (seat !== hand.starter) drawStock(hand);
  }
  function draw(hand, action) {
    if (action === UPCARD) {
      hand.upcards++;
      return hand.upcards >= hand.rules.max_upcards ? finish(hand, "upcard-limit", null, 0) : takeUpcard(hand);
    }
    hand.refused[hand.turn] |= bit(upcardOf(hand));
    if (stockIsUsedUp(hand)) finish(hand, "stock", null, 0);
    else drawStock(hand);
  }
  function drawStock(hand) {
    const card = hand.deck[hand.position++];
    hand.hands[hand.turn] |= bit(card);
    hand.drawn = card;
    hand.phase = "discard";
  }
  function takeUpcard(hand) {
    const card = hand.pile.pop();
    hand.hands[hand.turn] |= bit(card);
    hand.known[hand.turn] |= bit(card);
    hand.taken = card;
    hand.phase = "discard";
  }
  function discard(hand, card, knocks) {
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
  var unseenBy = (hand, seat) => ALL_CARDS & ~hand.spread.reduce((seen, meld) => seen | meld, hand.hands[seat] | maskOf(hand.pile) | hand.known[other(seat)]);
  function knock(hand) {
    const seat = hand.turn;
    const defender = other(seat);
    const cards = hand.hands[seat];
    hand.knocker = seat;
    hand.spread = bestSpread(cards, unseenBy(hand, seat), hand.known[defender]);
    hand.deadwood[seat] = pointsOf(cards & ~hand.spread.reduce((all, meld) => all | meld, 0n));
    const theirs = hand.hands[defender];
    if (hand.deadwood[seat] === 0) return score(hand);
    if (hand.rules.layoff === "by-hand") {
      if (!layable(hand.spread, theirs).length) return score(hand);
      hand.turn = defender;
      hand.phase = "layoff";
      return;
    }
    const { laid } = (hand.rules.layoff === "best" ? bestLayOff : deadwoodLayOff)(theirs, hand.spread);
    for (let rest2 = laid; rest2; ) {
      const card = layable(hand.spread, rest2)[0];
      putOnSpread(hand, defender, card);
      rest2 &= ~bit(card);
    }
    score(hand);
  }
  function putOnSpread(hand, seat, card) {
    hand.spread = withCard(hand.spread, card);
    hand.hands[seat] &= ~bit(card);
    hand.known[seat] &= ~bit(card);
    hand.laid |= bit(card);
  }
  function layOff(hand, action) {
    if (action !== PASS) putOnSpread(hand, hand.turn, action);
    if (action === PASS || !layable(hand.spread, hand.hands[hand.turn]).length) score(hand);
  }
  function score(hand) {
    const { gin_bonus, undercut_bonus, undercut_on_tie } = hand.rules;
    const knocker = hand.knocker;
    const defender = other(knocker);
    const mine = hand.deadwood[knocker];
    const theirs = hand.deadwood[defender] = deadwoodOf(hand.hands[defender]);
    if (mine === 0) finish(hand, "gin", knocker, theirs + gin_bonus);
    else if (theirs > mine) finish(hand, "knock", knocker, theirs - mine);
    else if (theirs < mine || undercut_on_tie) finish(hand, "undercut", defender, mine - theirs + undercut_bonus);
    else finish(hand, "tie", null, 0);
  }
  function finish(hand, end, winner, points) {
    hand.phase = "over";
    hand.end = end;
    hand.winner = winner;
    hand.points = hand.doubled ? 2 * points : points;
  }
  function actionName(action, phase) {
    if (action === PASS) return phase === "layoff" ? "done" : "pass";
    if (action >= STOCK) return action === STOCK ? "draw stock" : "take";
    if (action >= KNOCK) return `knock ${cardName(action - KNOCK)}`;
    return `${phase === "layoff" ? "lay off" : "discard"} ${cardName(action)}`;
  }

  // src/random.ts
  var GOLDEN = 0x9e3779b97f4a7c15n;
  var word64 = (value) => BigInt.asUintN(64, value);
  function mix(value) {
    let x = word64(value + GOLDEN);
    x = word64((x ^ x >> 30n) * 0xbf58476d1ce4e5b9n);
    x = word64((x ^ x >> 27n) * 0x94d049bb133111ebn);
    return x ^ x >> 31n;
  }
  var unit = (word) => Number(word >> 11n) * 2 ** -53;
  function randomWord() {
    const [low, high] = crypto.getRandomValues(new Uint32Array(2));
    return BigInt(high) << 32n | BigInt(low);
  }
  function shuffledDeck(key, handNumber) {
    const deck = Array.from({ length: 52 }, (_, card) => card);
    let seed = mix(key ^ mix(BigInt(handNumber)));
    for (let i = 51; i > 0; i--) {
      seed = word64(seed + GOLDEN);
      const word = word64((seed ^ seed >> 30n) * 0xbf58476d1ce4e5b9n);
      const j = Number((word >> 32n) * BigInt(i + 1) >> 32n);
      [deck[i], deck[j]] = [deck[j], deck[i]];
    }
    return deck;
  }

  // src/view.ts
  var HAND_LUCK = 0x082efa98ec4e6c89n;
  function viewOf(game, seat) {
    const { hand } = game;
    const mineFirst = (pair) => [pair[seat], pair[other(seat)]];
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
      handLuck: mix(game.luck[seat] ^ mix(number ^ HAND_LUCK))
    };
  }
  var pileCards = (view) => maskOf(view.pile);

  // src/encoder.ts
  var INPUT_SIZE = 520;
  var FACTS = 9 * 52;
  var MAX_POINTS = 250;
  var clipped = (points) => Math.min(Math.max(points, 0), MAX_POINTS);
  function writePlane(input, plane, cards) {
    input.fill(0, 52 * plane, 52 * plane + 52);
    for (const card of cardsOf(cards)) input[52 * plane + card] = 1;
  }
  function encode(view) {
    const input = new Uint8Array(INPUT_SIZE);
    const upcard = view.upcard === null ? 0n : bit(view.upcard);
    const fresh = view.toMove && view.taken !== null ? view.taken : view.drawn;
    const planes = [
      view.hand,
      meldedCards(view.hand),
      upcard,
      pileCards(view),
      view.known[1],
      view.known[0],
      view.thrown[1],
      view.refused[1],
      fresh === null ? 0n : bit(fresh)
    ];
    planes.forEach((cards, plane) => writePlane(input, plane, cards));
    input.set([...situation(view), ...rulesOf(view), ...rest(view)].map(Number), FACTS);
    return input;
  }
  function situation(view) {
    const { hand, phase, rules, upcard, score: score2, boxes } = view;
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
      clipped(score2[0]),
      clipped(score2[1]),
      clipped(rules.target - score2[0]),
      clipped(rules.target - score2[1]),
      boxes[0],
      boxes[1]
    ];
  }
  function rulesOf({ rules }) {
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
      false
    ];
  }
  var rest = (view) => [view.known[1] !== 0n, view.drawnHands, view.declined];

  // src/network.ts
  function networkOf(shapes, numbers) {
    let at = 0;
    const take = (count) => numbers.subarray(at, at += count);
    return shapes.map((shape) => {
      const outputs = shape.suit_outputs + shape.shared_outputs;
      return {
        own: take(shape.suit_outputs * shape.suit_inputs),
        pooled: take(outputs * (shape.suit_inputs + shape.shared_inputs)),
        bias: take(outputs)
      };
    });
  }
  var product = (matrix, values) => Float32Array.from({ length: matrix.length / values.length }, (_, row) => {
    let sum = 0;
    for (let i = 0; i < values.length; i++) sum += matrix[row * values.length + i] * values[i];
    return sum;
  });
  var rectified = (values) => values.map((value) => Math.max(value, 0));
  function logitsOf(network, input) {
    const ofSuit = (suit) => Array.from({ length: 9 * 13 }, (_, i) => input[52 * Math.floor(i / 13) + 13 * suit + i % 13]);
    let suits = [0, 1, 2, 3].map((suit) => Float32Array.from(ofSuit(suit)));
    let shared = Float32Array.from(input.subarray(FACTS));
    network.forEach(({ own, pooled, bias }, depth) => {
      if (depth > 0) {
        suits = suits.map(rectified);
        shared = rectified(shared);
      }
      const sums = suits[0].map((_, i) => suits.reduce((sum, suit) => sum + suit[i], 0));
      const common = product(pooled, Float32Array.of(...sums, ...shared)).map((value, i) => value + bias[i]);
      suits = suits.map((suit) => product(own, suit).map((value, i) => value + common[i]));
      shared = common.subarray(suits[0].length);
    });
    const decks = [0, 13].flatMap((first) => suits.flatMap((suit) => [...suit.subarray(first, first + 13)]));
    return Float32Array.of(...decks, ...shared);
  }
  function decodeHalves(text) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return Float32Array.from({ length: bytes.length / 2 }, (_, i) => {
      const bits = bytes[2 * i] | bytes[2 * i + 1] << 8;
      const exponent = bits >> 10 & 31;
      const size = exponent ? (1024 + (bits & 1023)) * 2 ** (exponent - 25) : (bits & 1023) * 2 ** -24;
      return bits >> 15 ? -size : size;
    });
  }

  // src/choice.ts
  var levels = [];
  function addLevel(app, numbers) {
    const { name, title, behaviour, layers } = app;
    levels.push({ name, title, behaviour, network: networkOf(layers, numbers) });
  }
  var NEVER = -1e9;
  function inputOf(view, { remembered_discards, noticed_actions }) {
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
  function prefer(view, behaviour, seed, logits) {
    const word = mix(view.handLuck ^ mix(seed));
    const [sets, runs, knock2] = [1n, 2n, 3n].map((k) => behaviour.hand_taste * unit(mix(word + k)));
    const discards = view.legal.filter((action) => action < KNOCK).map((card) => ({ card, others: view.hand & ~bit(card), left: deadwoodOf(view.hand & ~bit(card)) }));
    const least = Math.min(...discards.map(({ left }) => left));
    const first = bestOf(logits, discards.map(({ card }) => card));
    for (const { card, others, left } of discards) {
      if (card !== first && left > least + behaviour.max_extra_deadwood) {
        logits[card] = NEVER;
        continue;
      }
      if (others & columnOf(card)) logits[card] -= sets;
      if (hasNeighbour(card, others)) logits[card] -= runs;
    }
    for (const action of view.legal) if (action >= KNOCK && action < STOCK) logits[action] += knock2;
  }
  function hasNeighbour(card, cards) {
    const ranks = suitsOf(cards)[suitOf(card)];
    return ((ranks << 1 | ranks >> 1) & 1 << rankOf(card)) !== 0;
  }
  var bestOf = (logits, actions) => actions.reduce((best, action) => logits[action] > logits[best] ? action : best, actions[0]);
  function choose(level, view, seed) {
    const policy = new Float64Array(NUM_ACTIONS);
    if (view.phase === "layoff") {
      const { laid } = bestLayOff(view.hand, view.spread);
      return { action: cardsOf(laid).find((card) => view.legal.includes(card)) ?? PASS, policy };
    }
    const { behaviour, network } = level;
    const logits = logitsOf(network, inputOf(view, behaviour));
    const discards = view.legal[0] < KNOCK;
    if (discards) prefer(view, behaviour, seed, logits);
    const temperature = discards ? behaviour.temperature : behaviour.draw_temperature;
    const best = bestOf(logits, view.legal);
    if (temperature <= 0) return { action: best, policy };
    let action = best;
    let total = 0;
    let word = mix(view.luck ^ mix(seed));
    for (const each of view.legal) {
      const behind = logits[best] - logits[each];
      if (behind > behaviour.max_logit_gap) continue;
      const weight = policy[each] = Math.exp(-behind / temperature);
      total += weight;
      word = mix(word);
      if (unit(word) * total < weight) action = each;
    }
    return { action, policy: policy.map((weight) => weight / total) };
  }

  // src/game.ts
  var CUT = 0x5eed0f7ec07n;
  function newGame(rules, key, luck) {
    const starter = rules.first_starter === "chance" ? Number(mix(key ^ CUT) >> 63n) : 0;
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
      total: [0, 0]
    };
  }
  function nextStarter({ rules, winner, points, starter }) {
    if (points === 0 || winner === null) return starter;
    const seats = { loser: other(winner), winner, alternate: other(starter), seat0: 0 };
    return seats[rules.next_starter];
  }
  function nextHand(game) {
    const starter = nextStarter(game.hand);
    game.handNumber++;
    game.hand = deal(game.rules, shuffledDeck(game.key, game.handNumber), starter);
  }
  function scoreHand(game) {
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
  var leader = ([mine, theirs]) => mine === theirs ? null : mine > theirs ? 0 : 1;
  function endGame(game, ended) {
    const { rules, score: score2, boxes } = game;
    const total = game.total = [...score2];
    game.isOver = true;
    if (ended === null) {
      game.winner = leader(total);
    } else {
      const shutOut = boxes[other(ended)] === 0 ? rules.shutout : "none";
      total[ended] += rules.game_bonus;
      if (shutOut === "double-before-boxes") total[ended] *= 2;
      for (const seat of [0, 1]) total[seat] += rules.box_bonus * boxes[seat];
      if (shutOut === "double-after-boxes") total[ended] *= 2;
      if (shutOut === "bonus") total[ended] += rules.shutout_bonus;
      game.winner = rules.winner === "total" ? leader(total) : ended;
    }
    if (rules.net_score && game.winner !== null) {
      total[game.winner] -= total[other(game.winner)];
      total[other(game.winner)] = 0;
    }
  }

  // src/rules.ts
  var STANDARD = {
    deal: "traditional",
    first_upcard: "offer",
    discard_taken_upcard: false,
    knock_limit: 10,
    oklahoma: false,
    oklahoma_ace: "one",
    spade_doubles: false,
    gin: "declared",
    stock_end: "void",
    layoff: "best",
    undercut_on_tie: false,
    gin_bonus: 25,
    undercut_bonus: 25,
    max_upcards: 50,
    first_starter: "chance",
    next_starter: "loser",
    target: 100,
    game_bonus: 100,
    box_bonus: 25,
    shutout: "double-before-boxes",
    shutout_bonus: 100,
    net_score: true,
    winner: "total",
    max_drawn_hands: 50
  };
  var POINTS_ONLY = {
    ...STANDARD,
    undercut_on_tie: true,
    game_bonus: 0,
    box_bonus: 0,
    shutout: "none",
    net_score: false,
    winner: "target"
  };
  var PRESETS = {
    "dg-standard": STANDARD,
    "gr-oklahoma": {
      ...POINTS_ONLY,
      oklahoma: true,
      oklahoma_ace: "gin",
      spade_doubles: true,
      gin: "automatic",
      stock_end: "last-upcard",
      layoff: "deadwood-only",
      target: 150
    },
    gc: { ...POINTS_ONLY, next_starter: "alternate", layoff: "by-hand", stock_end: "wall" }
  };
  return __toCommonJS(gin_exports);
})();
if (typeof module === 'object') module.exports = gin;
