/** Draws rights as a matrix that fits the width of a terminal: a row for each resource and a column for each action. */
import { type Action, ACTIONS, RESOURCES } from "../../apikey/permission.ts";
import type { EffectivePermissions, PermissionSet } from "../../client/rights/effective_permissions.ts";
import type { Style } from "./style.ts";
import { fit, truncate, widthOf, wrapText } from "./text_width.ts";
import { wrapWords } from "./wrap.ts";

export interface MatrixLayout {
  /** In columns. */
  readonly labelWidth: number;
  /** Whether the header names the actions in words. A narrow header abbreviates them. */
  readonly isWide: boolean;
  readonly style: Style;
}

/** The total width of the eight cells of a row, in columns of the terminal: in the wide layout and in the narrow one. */
const WIDE_CELLS = 34;
const NARROW_CELLS = 17;

/** The number of spaces before the label, and between the label and the cells. */
const MARGIN = 2;

/** The minimum width of a label, in columns. */
const MIN_LABEL_WIDTH = 4;

/** Chooses the layout for these labels in a terminal with this many columns. */
export function layoutMatrix(labels: readonly string[], columns: number, style: Style): MatrixLayout {
  const widest = labels.reduce((width, label) => Math.max(width, widthOf(label)), 0);
  const isWide = MARGIN + widest + MARGIN + WIDE_CELLS < columns;
  const room = columns - 1 - 2 * MARGIN - (isWide ? WIDE_CELLS : NARROW_CELLS);
  return { labelWidth: Math.max(MIN_LABEL_WIDTH, Math.min(widest, room)), isWide, style };
}

/** The two header lines: CREATE, READ, UPDATE and DELETE, each with ANY and OWN. */
export function matrixHeader({ labelWidth, isWide, style: { dim } }: MatrixLayout): readonly string[] {
  const indent = " ".repeat(2 * MARGIN + labelWidth);
  const lines = isWide
    ? ["CREATE   READ     UPDATE   DELETE", "ANY OWN  ANY OWN  ANY OWN  ANY OWN"]
    : [" Cre Rea Upd Del", " a o a o a o a o"];
  return lines.map((line) => `${indent}${dim(line)}`);
}

/**
 * One row of the matrix.
 *
 * @param start the text before the label, two columns wide
 * @param marks one mark for each action, each one column wide
 * @param focus the index of the cell to draw in brackets, or -1 for the label
 */
export function matrixRow(
  { labelWidth, isWide, style }: MatrixLayout,
  start: string,
  label: string,
  marks: readonly string[],
  focus?: number,
): string {
  const cells = isWide ? wideCells(marks, focus) : narrowCells(marks, focus);
  const name = focus === -1 ? `${truncate(label, labelWidth, style.symbols.ellipsis)}]` : label;
  return `${start}${fit(name, labelWidth + 1, style.symbols.ellipsis)} ${cells}`.trimEnd();
}

function wideCells(marks: readonly string[], focus: number | undefined): string {
  return marks.map((mark, index) => {
    const gap = index === 0 ? "" : index % 2 === 0 ? "  " : " ";
    return `${gap}${index === focus ? `[${mark}]` : ` ${mark} `}`;
  }).join("");
}

function narrowCells(marks: readonly string[], focus: number | undefined): string {
  const separator = (index: number): string => index === focus ? "[" : index > 0 && index - 1 === focus ? "]" : " ";
  return marks.map((mark, index) => `${separator(index)}${mark}`).join("") + separator(marks.length);
}

/** Returns a function that marks each right of a key as granted by roles, by permissions, by both, or not at all. */
export function markRights(
  byRoles: PermissionSet,
  byPermissions: PermissionSet,
  { cyan, dim, green, symbols, yellow }: Style,
): (resource: string, action: Action) => string {
  return (resource, action) => {
    const right = `${resource}:${action}`;
    if (byRoles.has(right)) return byPermissions.has(right) ? yellow(symbols.fromBoth) : cyan(symbols.fromRole);
    return byPermissions.has(right) ? green(symbols.fromPermission) : dim(symbols.none);
  };
}

/**
 * Draws the effective rights of a key. Omits resources without any right. If it saves lines, the largest group of at
 * least 4 resources with equal marks shares a row, and each other resource has a row, even without any right. Resources
 * that this program does not know come after those that it knows. If the server does not report what the roles grant,
 * draws only what the permissions grant, and says so.
 *
 * @param columns the width of the terminal
 * @returns lines; the last ones explain the marks and list what the matrix cannot show
 */
export function drawRights(
  { roles, byRoles, byPermissions }: EffectivePermissions,
  columns: number,
  style: Style,
): readonly string[] {
  const rights = new Set([...byRoles ?? [], ...byPermissions]);
  const mark = markRights(byRoles ?? new Set(), byPermissions, style);
  const rows = matrixRows(rights, (resource) => ACTIONS.map((action) => mark(resource, action)));
  const layout = layoutMatrix(rows.map(({ label }) => label), columns, style);
  const matrix = [
    ...matrixHeader(layout),
    ...rows.map(({ label, marks }) => matrixRow(layout, " ".repeat(MARGIN), label, marks)),
    "",
    ...legendLines(rows, layout, columns),
  ];
  const notes = [
    ...otherRights(rights),
    ...(byRoles === undefined ? [`The server does not report which rights the ${nameRoles(roles)}.`] : []),
  ];
  return [
    ...(rows.length === 0 && notes.length > 0 ? [] : matrix),
    ...notes.flatMap((note) => wrapText(note, columns - MARGIN - 1)).map((line) => `${" ".repeat(MARGIN)}${line}`),
  ];
}

function nameRoles(roles: readonly string[]): string {
  return roles.length === 1 ? `role ${roles[0]} grants` : `roles ${roles.join(", ")} grant`;
}

/** Names the rights whose action has no column, because this program does not know the action. */
function otherRights(rights: PermissionSet): readonly string[] {
  const others = [...rights].filter((right) => !ACTIONS.some((action) => right.endsWith(`:${action}`)));
  return others.length === 0 ? [] : [`Other rights: ${others.join(", ")}`];
}

/** Rows are merged only if at least this many of them are equal. */
const MIN_MERGED_ROWS = 4;

interface Row {
  readonly label: string;
  readonly marks: readonly string[];
}

function matrixRows(rights: PermissionSet, marksFor: (resource: string) => readonly string[]): readonly Row[] {
  const resources = new Set([...RESOURCES, ...[...rights].map((right) => right.replace(/:.*/, ""))]);
  const all = [...resources].map((resource): Row => ({ label: resource, marks: marksFor(resource) }));
  const rows = all.filter(({ label }) => ACTIONS.some((action) => rights.has(`${label}:${action}`)));
  const groups = Object.values(Object.groupBy(rows, ({ marks }) => marks.join()));
  const merged = groups.reduce<readonly Row[]>((most, group = []) => group.length > most.length ? group : most, []);
  const others = all.filter((row) => !merged.includes(row));
  if (merged.length < MIN_MERGED_ROWS || others.length + 1 >= rows.length) return rows;
  const label = others.length === 0 ? `all ${all.length} resources` : `the other ${merged.length}`;
  return [...others, { label, marks: merged[0]?.marks ?? [] }];
}

/** Explains the marks that occur in the rows. */
function legendLines(
  rows: readonly Row[],
  { isWide, style: { dim, symbols } }: MatrixLayout,
  columns: number,
): readonly string[] {
  const marks = rows.flatMap((row) => row.marks).join("");
  const meanings = [
    [symbols.fromRole, "by role"],
    [symbols.fromPermission, "by permission"],
    [symbols.fromBoth, "by both"],
  ] as const;
  const entries = meanings.flatMap(([mark, meaning]) => marks.includes(mark) ? [`${mark} ${meaning}`] : []);
  return wrapWords([...entries, ...(isWide ? [] : ["a any", "o own"])], columns - MARGIN - 1, "  ")
    .map((line) => `${" ".repeat(MARGIN)}${dim(line)}`);
}
