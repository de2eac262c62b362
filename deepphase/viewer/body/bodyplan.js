// The parts of a body by joint: from the roles in the asset, else from the joints' names.

import { add, rotate } from "../vectors.js";

const NAMES = { hips: /^(joint_?)?(hips?|pelvis|root)$/i, neck: /neck/i, head: /head/i, tail: /tail/i };
const LIMBS = {
  hip: /(up(per)?_?leg|thigh|femur)/i,
  knee: /(^|[^p])(lower_?leg|knee|shin|calf|tibia)|(left|right|[lr]_)leg$/i,
  foot: /(foot|ankle|hock)/i,
  toe: /toe/i,
  shoulder: /(upper_?arm|shldr|(left|right|[lr]_)arm$|humerus)/i,
  elbow: /(lower_?arm|fore_?arm|elbow|radius)/i,
  hand: /(hand|wrist|paw)/i,
};

function sideOf(name) {
  if (/left|^l[A-Z_.]|[_.]l$/.test(name) || /Left|_L$|^L_/.test(name)) return "left";
  if (/right|^r[A-Z_.]|[_.]r$/.test(name) || /Right|_R$|^R_/.test(name)) return "right";
  return "";
}

export function rolesOf(skeleton) {
  if (skeleton.roles) return { tail: [], ...skeleton.roles, kind: skeleton.kind ?? skeleton.roles.kind };
  const roles = { kind: "biped", tail: [] };
  skeleton.names.forEach((name, joint) => {
    const side = sideOf(name);
    if (!side) {
      for (const role of ["hips", "neck", "head"]) if (NAMES[role].test(name)) roles[role] ??= joint;
      if (NAMES.tail.test(name)) roles.tail.push(joint);
      return;
    }
    const [role] = Object.entries(LIMBS).find(([, pattern]) => pattern.test(name)) ?? [];
    if (role) roles[`${side}_${role}`] ??= joint;
  });
  if (roles.tail.length) roles.kind = "quadruped";
  roles.hips ??= 0;
  if (roles.left_shoulder !== undefined && roles.right_shoulder !== undefined) {
    const above = new Set(pathDown(skeleton, 0, roles.left_shoulder));
    roles.chest = pathDown(skeleton, 0, roles.right_shoulder).filter((j) => above.has(j)).pop();
  }
  if (roles.left_hip === undefined || roles.right_hip === undefined) roles.kind = "other";
  return roles;
}

// Joints from `top` down to `joint`, both included; empty where `joint` is not below `top`.
export function pathDown(skeleton, top, joint) {
  const path = [];
  for (let at = joint; at >= 0; at = skeleton.parents[at]) {
    path.unshift(at);
    if (at === top) return path;
  }
  return [];
}

export function childrenOf(skeleton, joint) {
  return [...skeleton.parents.keys()].filter((child) => skeleton.parents[child] === joint);
}

// All joints below one, itself included.
export function below(skeleton, joint) {
  const found = new Set([joint]);
  for (let at = joint + 1; at < skeleton.parents.length; at++) {
    if (found.has(skeleton.parents[at])) found.add(at);
  }
  return found;
}

// The frame in which a foot is lowest, and the heights of its joints there.
export function standing(frames, joints) {
  const height = (frame) => Math.max(...joints.map((j) => frame.positions[3 * j + 1]));
  return frames.reduce((best, frame) => (height(frame) < height(best) ? frame : best));
}

// The tip of a limb in a bind pose: its end site, else null.
export function tipOf({ ends, pose }, joint) {
  if (!ends[joint]) return null;
  return add(pose.positions[joint], rotate(pose.rotations[joint], ends[joint]));
}
