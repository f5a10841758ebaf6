// Plays whole hands of gin rummy against `gin serve`, with nothing but what comes with node (18 or newer):
//
//     GIN_TOKEN=... node examples/clients/client.mjs [URL] [HANDS] [PLAYER] [YOUR NAME]
//
// To write your own player, change `choose`; everything else can stay as it is.

const [url = "http://127.0.0.1:8378", hands = "3", player = "level-2", person] = process.argv.slice(2);
const RANKS = "A23456789TJQK";
const value = (card) => Math.min(10, RANKS.indexOf(card[0]) + 1);

async function call(method, path, body) {
  const response = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${process.env.GIN_TOKEN}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const answer = response.status === 204 ? {} : await response.json();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${answer.message}`);
  return answer;
}

/** All sets, and all runs of three to five, that a hand holds. */
function melds(hand) {
  const found = [];
  for (const rank of RANKS) {
    const same = hand.filter((card) => card[0] === rank);
    if (same.length >= 3) found.push(same);
    if (same.length === 4) for (const out of same) found.push(same.filter((card) => card !== out));
  }
  for (const suit of "SCDH")
    for (let low = 0; low < RANKS.length; low++)
      for (let length = 3; length <= 5; length++) {
        const run = [...RANKS.slice(low, low + length)].map((rank) => rank + suit);
        if (run.length === length && run.every((card) => hand.includes(card))) found.push(run);
      }
  return found;
}

/** The fewest points that can be left outside melds that do not overlap. */
function deadwood(hand, found = melds(hand)) {
  let best = hand.reduce((sum, card) => sum + value(card), 0);
  found.forEach((meld, i) => {
    const rest = hand.filter((card) => !meld.includes(card));
    const others = found.slice(i + 1).filter((other) => !other.some((card) => meld.includes(card)));
    best = Math.min(best, deadwood(rest, others));
  });
  return best;
}

const without = (hand, out) => deadwood(hand.filter((card) => card !== out));

/** The action for a question: one of `game.legal`. */
function choose(game) {
  const { legal, hand, upcard } = game;
  if (game.phase === "discard") {
    const rated = legal.map((action) => {
      const [word, card] = action.split(" ");
      // Ties go to a knock, then to the card with the most points.
      return { action, rank: [without(hand, card), word === "knock" ? 0 : 1, -value(card)] };
    });
    rated.sort((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1] || a.rank[2] - b.rank[2]);
    return rated[0].action;
  }
  if (legal.includes("take")) {
    const taken = Math.min(...hand.map((out) => without([...hand, upcard], out)));
    return taken < deadwood(hand) - 2 ? "take" : legal.find((action) => action !== "take");
  }
  return legal[0];
}

let played = 0;
while (played < Number(hands)) {
  let state = await call("POST", "/tables", { player, rules: "eaai", ...(person && { person }) });
  for (;;) {
    for (const event of state.game.events.filter((each) => each.event === "hand over")) {
      played += 1;
      console.log(`hand ${played}: ${event.end}, ${event.points} points to ${event.winner}; score ${event.score}`);
    }
    if (state.over || played >= Number(hands)) break;
    state = await call("POST", `/tables/${state.table}`, { action: choose(state.game) });
  }
  await call("DELETE", `/tables/${state.table}`);
}
