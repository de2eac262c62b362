/** Characters of any asset, which all have the same interface. */

import { ControllerCharacter } from "./controller.js";
import { LearnedCharacter } from "./learned.js";

/** A character, with `step(goal)` and `reset(options)`, which are: `seed` (0 starts from the state nearest to the goal),
 * `position` [x, z] in m, `heading` in rad, `label` or null, `goal` that it starts towards, `start` (index of the start state),
 * `blend` ("natural", "balanced" or "responsive"), `footIk`, `ground` (a `WalkedGround`). */
export function createCharacter(asset, options = {}) {
  if (asset.kind === "controller") return new ControllerCharacter(asset, options);
  if (asset.kind === "matcher") return new LearnedCharacter(asset, options);
  throw new Error(`no character of an asset of the kind ${asset.kind}`);
}
