/**
 * Renders the text on a terminal screen as an SVG document: a window with monospaced text. The document embeds no fonts
 * and links to no other files.
 */
import type { Colour, Run } from "./cells.ts";

export interface Theme {
  readonly name: "dark" | "light";
  readonly background: string;
  readonly border: string;
  readonly text: string;
  readonly dim: string;
  readonly colours: Readonly<Record<Colour, string>>;
}

/** The colours of GitHub's light and dark themes, because GitHub shows the pictures. */
export const THEMES: readonly Theme[] = [
  {
    name: "light",
    background: "#f6f8fa",
    border: "#d1d9e0",
    text: "#1f2328",
    dim: "#6e7781",
    colours: { cyan: "#0969da", green: "#1a7f37", red: "#cf222e", yellow: "#9a6700" },
  },
  {
    name: "dark",
    background: "#0d1117",
    border: "#3d444d",
    text: "#e6edf3",
    dim: "#848d97",
    colours: { cyan: "#58a6ff", green: "#3fb950", red: "#f85149", yellow: "#d29922" },
  },
];

// All sizes are in pixels.
const FONT_SIZE = 14;
/** In most monospaced fonts, the width of a character is 0.6 times the font size. */
const CHARACTER_WIDTH = 8.4;
const LINE_HEIGHT = 20;
const PADDING = 16;
/** The pixels from the top of a line to the baseline of its text. */
const BASELINE = 15;

const FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace";

/**
 * @param columns the width of the terminal
 * @param title describes the picture for readers who cannot see it
 */
export function drawSvg(
  lines: readonly (readonly Run[])[],
  columns: number,
  title: string,
  { background, border, text, dim, colours }: Theme,
): string {
  const width = Math.ceil(columns * CHARACTER_WIDTH) + 2 * PADDING;
  const height = lines.length * LINE_HEIGHT + 2 * PADDING;
  const fills = Object.entries({ dim, ...colours }).map(([name, colour]) => `.${name}{fill:${colour}}`).join("");
  return [
    "<!-- deno-fmt-ignore-file -->",
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    `role="img">`,
    `<title>${escapeXml(title)}</title>`,
    `<style>text{font:${FONT_SIZE}px ${FONTS};fill:${text};white-space:pre}.bold{font-weight:bold}${fills}</style>`,
    `<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8" fill="${background}" stroke="${border}"/>`,
    ...lines.map((runs, row) => drawLine(runs, PADDING + row * LINE_HEIGHT + BASELINE)).filter((line) => line !== ""),
    "</svg>",
    "",
  ].join("\n");
}

function drawLine(runs: readonly Run[], y: number): string {
  return runs.length === 0 ? "" : `<text y="${y}">${runs.map(drawRun).join("")}</text>`;
}

function drawRun({ column, text, bold, dim, colour }: Run): string {
  const styles = [...(bold ? ["bold"] : []), ...(dim ? ["dim"] : []), ...(colour === undefined ? [] : [colour])];
  const style = styles.length === 0 ? "" : ` class="${styles.join(" ")}"`;
  const length = text.length === 1 ? "" : ` textLength="${pixels(text.length)}"`;
  return `<tspan x="${pixels(column, PADDING)}"${length}${style}>${escapeXml(text)}</tspan>`;
}

function pixels(characters: number, start = 0): string {
  return (start + characters * CHARACTER_WIDTH).toFixed(1).replace(/\.0$/, "");
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
