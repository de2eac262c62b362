// Files that the page saves.

// Milliseconds after which a browser has begun to save what a link leads to.
const SAVED_MS = 10_000;

export function download(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), SAVED_MS);
}
