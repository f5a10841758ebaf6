// Everything but the page, as one script: `gin.js` defines the global `gin`, and node can load it with `require`.

export * from "./cards";
export * from "./choice";
export * from "./encoder";
export * from "./game";
export * from "./hand";
export * from "./melds";
export * from "./network";
export * from "./random";
export * from "./rules";
export * from "./view";
