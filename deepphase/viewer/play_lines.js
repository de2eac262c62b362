// The player of a page in which all bodies are lines between points.

import { play } from "./play.js";

play();
