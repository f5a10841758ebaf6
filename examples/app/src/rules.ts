// The rules as data. Names and values are those of the Python package (docs/rules.md), where every rule is explained.

export interface Rules {
  readonly deal: "traditional" | "eleven-ten";
  readonly first_upcard: "either" | "offer";
  readonly discard_taken_upcard: boolean;
  readonly knock_limit: number;
  readonly oklahoma: boolean;
  readonly oklahoma_ace: "gin" | "one";
  readonly spade_doubles: boolean;
  readonly gin: "declared" | "automatic";
  readonly stock_end: "void" | "last-upcard" | "wall";
  readonly layoff: "best" | "deadwood-only" | "by-hand";
  readonly undercut_on_tie: boolean;
  readonly gin_bonus: number;
  readonly undercut_bonus: number;
  readonly max_upcards: number;
  readonly first_starter: "chance" | "seat0";
  readonly next_starter: "loser" | "alternate" | "seat0" | "winner";
  readonly target: number;
  readonly game_bonus: number;
  readonly box_bonus: number;
  readonly shutout: "none" | "double-before-boxes" | "double-after-boxes" | "bonus";
  readonly shutout_bonus: number;
  readonly net_score: boolean;
  readonly winner: "target" | "total";
  readonly max_drawn_hands: number;
}

const STANDARD: Rules = {
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
  max_drawn_hands: 50,
};
const POINTS_ONLY: Rules = {
  ...STANDARD,
  undercut_on_tie: true,
  game_bonus: 0,
  box_bonus: 0,
  shutout: "none",
  net_score: false,
  winner: "target",
};

/** The presets that this example plays: three of the package's fifteen. */
export const PRESETS = {
  "dg-standard": STANDARD,
  "gr-oklahoma": {
    ...POINTS_ONLY,
    oklahoma: true,
    oklahoma_ace: "gin",
    spade_doubles: true,
    gin: "automatic",
    stock_end: "last-upcard",
    layoff: "deadwood-only",
    target: 150,
  },
  gc: { ...POINTS_ONLY, next_starter: "alternate", layoff: "by-hand", stock_end: "wall" },
} as const satisfies Record<string, Rules>;
export type Preset = keyof typeof PRESETS;
