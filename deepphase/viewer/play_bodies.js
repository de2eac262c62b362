// The player of a page with people and animals.

import { play } from "./play.js";
import { Mannequins } from "./scene/mannequins.js";

play(Mannequins);
