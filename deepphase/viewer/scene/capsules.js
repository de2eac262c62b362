// Limbs as shaded lines with round ends, on a plain canvas.

import { mixed } from "./surface2d.js";

// Shades of a body's colour; `rim`: the colour behind it.
export function shadesOf(base, rim, dark) {
  return { rim, dark: mixed(base, "#000000", dark ? 0.42 : 0.28), base, bright: mixed(base, "#ffffff", 0.42), opacity: 1 };
}

// Pieces {ax, ay, bx, by, depth, width, colours} in pixels, from far to near.
export function drawCapsules(context, pieces) {
  context.lineCap = "round";
  pieces.sort((one, other) => other.depth - one.depth);
  const stroke = (piece, colour, width, dx, dy) => {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(piece.ax + dx, piece.ay + dy);
    context.lineTo(piece.bx + dx, piece.by + dy);
    context.stroke();
  };
  for (const piece of pieces) {
    const { width, colours } = piece;
    context.globalAlpha = colours.opacity;
    stroke(piece, colours.rim, width + Math.min(2, 0.4 * width), 0, 0);
    stroke(piece, colours.dark, width, 0, 0);
    if (width > 2.5) {
      stroke(piece, colours.base, 0.74 * width, -0.1 * width, -0.1 * width);
      stroke(piece, colours.bright, 0.2 * width, -0.2 * width, -0.2 * width);
    }
  }
  context.globalAlpha = 1;
}
