// Programs of the graphics card, in GLSL ES 3.00.

const HEAD = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2DShadow;
`;

// Light and shadow of all lit surfaces, whose programs get SHADE_PLACES: places in the shadows' picture around that of a
// pixel, in texels. Colours are linear; `shown` makes them a screen's.
const LIGHT = `
uniform vec3 eye, toLight, keyColour, skyColour, floorColour, fogColour;
uniform vec2 fogRange;
// Low and high corner of what throws shadows, in the light's picture.
uniform vec4 shadowBox;
uniform mat4 lightMatrix;
uniform sampler2DShadow shadowMap;
uniform float shadowTexel, floorLevel;
const vec2 SHADE_PLACES[] = vec2[](SHADE_LIST);

float shaded(vec3 p) {
  if (any(lessThan(p.xy, shadowBox.xy)) || any(greaterThan(p.xy, shadowBox.zw)) || abs(p.z) > 1.0) return 1.0;
  vec3 at = p * 0.5 + 0.5;
  float sum = 0.0;
  for (int i = 0; i < SHADE_PLACES.length(); i++) sum += texture(shadowMap, vec3(at.xy + shadowTexel * SHADE_PLACES[i], at.z - 0.0009));
  float edge = smoothstep(0.8, 1.0, max(abs(p.x), abs(p.y)));
  return mix(sum / float(SHADE_PLACES.length()), 1.0, edge);
}

// Place in the light's picture, a little off the surface.
vec3 inLight(vec3 place, vec3 normal) { return (lightMatrix * vec4(place + normal * 0.012, 1.0)).xyz; }

vec3 fogged(vec3 colour, vec3 place) {
  return mix(colour, fogColour, smoothstep(fogRange.x, fogRange.y, distance(place.xz, eye.xz)));
}

vec3 shown(vec3 colour) {
  colour = colour / (1.0 + max(colour - 0.82, 0.0) * 0.9);
  return pow(max(colour, 0.0), vec3(1.0 / 2.2));
}
`;

const SKIN = `
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in uvec4 joints;
layout(location = 3) in vec4 weights;
layout(location = 4) in vec2 surface;
// Colour of the vertex and its share; the rest is that of the character.
layout(location = 5) in vec4 own;
uniform highp sampler2D poses;
// Row of the first character that is drawn.
uniform int firstRow;

// Each row has the colours of a character, its body's with an opacity, and three texels for each joint.
mat4x3 posed() {
  vec4 rows[3] = vec4[3](vec4(0.0), vec4(0.0), vec4(0.0));
  for (int i = 0; i < 4 && weights[i] > 0.0; i++) {
    for (int r = 0; r < 3; r++) {
      rows[r] += weights[i] * texelFetch(poses, ivec2(2 + 3 * int(joints[i]) + r, firstRow + gl_InstanceID), 0);
    }
  }
  return transpose(mat3x4(rows[0], rows[1], rows[2]));
}
`;

export const BODY_VERTEX = `${HEAD}${SKIN}
uniform mat4 camera;
out vec3 place, normalOut;
flat out vec4 tint;
flat out vec3 accentTint;
out vec2 surfaceOut;
out vec4 ownOut;
void main() {
  mat4x3 pose = posed();
  place = pose * vec4(position, 1.0);
  normalOut = pose * vec4(normal, 0.0);
  tint = texelFetch(poses, ivec2(0, firstRow + gl_InstanceID), 0);
  accentTint = texelFetch(poses, ivec2(1, firstRow + gl_InstanceID), 0).rgb;
  surfaceOut = surface;
  ownOut = own;
  gl_Position = camera * vec4(place, 1.0);
}`;

export const BODY_FRAGMENT = `${HEAD}${LIGHT}
in vec3 place, normalOut;
flat in vec4 tint;
flat in vec3 accentTint;
in vec2 surfaceOut;
in vec4 ownOut;
out vec4 result;
void main() {
  vec3 n = normalize(normalOut) * (gl_FrontFacing ? 1.0 : -1.0);
  vec3 toEye = normalize(eye - place);
  float width = max(fwidth(surfaceOut.x), 1e-4);
  float accent = smoothstep(0.5 - width, 0.5 + width, surfaceOut.x);
  vec3 albedo = mix(mix(tint.rgb, accentTint, accent), ownOut.rgb, ownOut.a);
  float open = surfaceOut.y;
  float shade = shaded(inLight(place, n));
  float facing = dot(n, toLight);
  // Light that enters the surface softens the border between day and night.
  float direct = smoothstep(-0.12, 1.0, facing) * mix(1.0, shade, smoothstep(-0.2, 0.15, facing));
  vec3 around = mix(floorColour, skyColour, n.y * 0.5 + 0.5) * mix(0.35, 1.0, open * open);
  around *= mix(0.72, 1.0, smoothstep(0.0, 0.5, place.y - floorLevel));
  vec3 colour = albedo * (around + keyColour * direct * mix(0.6, 1.0, open));
  vec3 middle = normalize(toLight + toEye);
  float gloss = mix(28.0, 70.0, accent);
  colour += keyColour * pow(max(dot(n, middle), 0.0), gloss) * mix(0.06, 0.2, accent) * shade * step(0.0, facing);
  float rim = pow(1.0 - max(dot(n, toEye), 0.0), 4.0);
  colour += skyColour * rim * 0.22 * open * smoothstep(-0.6, 0.6, n.y);
  result = vec4(shown(fogged(colour, place)), tint.a);
}`;

export const BODY_SHADOW_VERTEX = `${HEAD}${SKIN}
uniform mat4 camera;
void main() {
  gl_Position = camera * vec4(posed() * vec4(position, 1.0), 1.0);
}`;

export const EMPTY_FRAGMENT = `${HEAD}
void main() {}`;

// The ground of a heightmap, or a plane with edges of 2 that is scaled around a place. Vertices have its colours, which
// change slowly: there are far more pixels, which software would draw one by one.
export const GROUND_VERTEX = `${HEAD}${LIGHT}
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
uniform mat4 camera;
uniform vec3 origin, groundColour, lineColour, middle;
uniform float scale, gridStep;
out vec3 lightPlace, plain, line, shadow;
out vec2 place;
void main() {
  vec3 at = origin + scale * position;
  float away = distance(at.xz, middle.xz);
  // A pool of light around the character.
  float pool = mix(1.0, 0.86, smoothstep(2.0 * gridStep, 30.0 * gridStep, away));
  vec3 around = pool * skyColour * 0.74 * mix(0.6, 1.0, normal.y);
  vec3 light = around + pool * keyColour * max(dot(normal, toLight), 0.0) * 0.92;
  plain = shown(fogged(groundColour * light, at));
  line = shown(fogged(mix(groundColour, lineColour, 1.0 - smoothstep(4.0 * gridStep, 44.0 * gridStep, away)) * light, at));
  shadow = shown(fogged(groundColour * around, at)) / plain;
  lightPlace = inLight(at, normal);
  place = at.xz / gridStep;
  gl_Position = camera * vec4(at, 1.0);
}`;

export const GROUND_FRAGMENT = `${HEAD}${LIGHT}
in vec3 lightPlace, plain, line, shadow;
in vec2 place;
out vec4 result;

// Lines closer than pixels fade to their mean.
float lines(vec2 p, vec2 pixel, float width) {
  vec2 drawn = clamp(1.0 - (abs(fract(p - 0.5) - 0.5) - width) / (1.2 * pixel), 0.0, 1.0);
  drawn *= clamp(1.5 - 2.5 * pixel, 0.0, 1.0);
  return max(drawn.x, drawn.y);
}

void main() {
  vec2 pixel = fwidth(place);
  float drawn = max(0.3 * lines(place, pixel, 0.0015), 0.66 * lines(0.25 * place, 0.25 * pixel, 0.006));
  result = vec4(mix(plain, line, drawn) * mix(shadow, vec3(1.0), shaded(lightPlace)), 1.0);
}`;

// Marks on the ground, in the screen's colours: ribbons and arrows (0), soft discs (1) and rings (2).
export const MARK_VERTEX = `${HEAD}
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 colour;
layout(location = 2) in vec3 acrossAndKind;
uniform mat4 camera;
out vec4 colourOut;
out vec2 across;
flat out float kind;
void main() {
  colourOut = colour;
  across = acrossAndKind.xy;
  kind = acrossAndKind.z;
  gl_Position = camera * vec4(position, 1.0);
}`;

export const MARK_FRAGMENT = `${HEAD}
in vec4 colourOut;
in vec2 across;
flat in float kind;
out vec4 result;
void main() {
  float r = length(across);
  float width = fwidth(r) * 1.5, edge = max(fwidth(across.x), 1e-4);
  // x: place across a ribbon in [-1, 1]; y > 0: an arrow, which has no soft edge.
  float ribbon = across.y > 0.0 ? 1.0 : clamp((1.0 - abs(across.x)) / edge, 0.0, 1.0);
  float disc = pow(1.0 - min(r, 1.0), 1.6);
  float ring = (smoothstep(0.72 - width, 0.72, r) + 0.35) * (1.0 - smoothstep(1.0 - width, 1.0, r));
  result = vec4(colourOut.rgb, colourOut.a * (kind < 0.5 ? ribbon : kind < 1.5 ? disc : ring));
}`;
