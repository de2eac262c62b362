// The page's JSON, and the colours of its looks and styles of its channels.

export const scene = JSON.parse(document.getElementById("scene").textContent);
export const styleOf = (index) => scene.palette.styles[index % scene.palette.styles.length];
export const look = { ...scene.palette.looks.light, dark: false };

// Take the colours of a look, "light" or "dark".
export function useLook(name) {
  Object.assign(look, scene.palette.looks[name], { dark: name === "dark" });
  document.documentElement.dataset.look = name;
}
