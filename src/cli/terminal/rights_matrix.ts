/** Rights as a picture: a row for each resource, a column for each action, fitted to the width of a terminal. */
import { type Action, ACTIONS, type Permission, type Resource, RESOURCES } from "../../apikey/permission.ts";
import { type Rights, rightsOf } from "../../apikey/rights.ts";
import type { Role } from "../../apikey/role.ts";
import type { Style } from "./style.ts";
import { cut, fit, widthOf } from "./text_width.ts";
import { wrapWords } from "./wrap.ts";

/** How a matrix is laid out. */
export interface MatrixLayout {
  readonly labelWidth: number;
  /** Whether actions stand with their names above their columns, or with letters. */
  readonly isWide: boolean;
  readonly style: Style;
}

/** Columns of the eight cells, in words and in letters. */
const WIDE_CELLS = 34;
const NARROW_CELLS = 17;

/** Columns before the label, and between the label and the cells. */
const MARGIN = 2;

/** The layout for labels in a terminal of so many columns. */
export function layoutMatrix(labels: readonly string[], columns: number, style: Style): MatrixLayout {
  const widest = Math.max(...labels.map(widthOf));
  const isWide = MARGIN + widest + MARGIN + WIDE_CELLS < columns;
  const room = columns - 1 - 2 * MARGIN - (isWide ? WIDE_CELLS : NARROW_CELLS);
  return { labelWidth: Math.max(4, Math.min(widest, room)), isWide, style };
}

/** The two lines above the rows: CREATE, READ, UPDATE and DELETE, each with ANY and OWN. */
export function matrixHeader({ labelWidth, isWide, style: { dim } }: MatrixLayout): readonly string[] {
  const indent = " ".repeat(2 * MARGIN + labelWidth);
  const lines = isWide
    ? ["CREATE   READ     UPDATE   DELETE", "ANY OWN  ANY OWN  ANY OWN  ANY OWN"]
    : [" Cre Rea Upd Del", " a o a o a o a o"];
  return lines.map((line) => `${indent}${dim(line)}`);
}

/**
 * A row.
 *
 * @param start what stands before the label, in two columns
 * @param marks one for each action, each of one column
 * @param focus the cell that stands in brackets, -1 for the label
 */
export function matrixRow(
  { labelWidth, isWide, style }: MatrixLayout,
  start: string,
  label: string,
  marks: readonly string[],
  focus?: number,
): string {
  const cells = isWide ? wideCells(marks, focus) : narrowCells(marks, focus);
  const name = focus === -1 ? `${cut(label, labelWidth, style.symbols.ellipsis)}]` : label;
  return `${start}${fit(name, labelWidth + 1, style.symbols.ellipsis)} ${cells}`.trimEnd();
}

function wideCells(marks: readonly string[], focus: number | undefined): string {
  return marks.map((mark, index) => {
    const gap = index === 0 ? "" : index % 2 === 0 ? "  " : " ";
    return `${gap}${index === focus ? `[${mark}]` : ` ${mark} `}`;
  }).join("");
}

function narrowCells(marks: readonly string[], focus: number | undefined): string {
  const between = (index: number): string => index === focus ? "[" : index > 0 && index - 1 === focus ? "]" : " ";
  return marks.map((mark, index) => `${between(index)}${mark}`).join("") + between(marks.length);
}

/** Marks for the rights of a key: which come from its roles, which from its permissions, and which from both. */
export function markRights(
  roles: readonly Role[],
  permissions: readonly Permission[],
  { cyan, dim, green, symbols, yellow }: Style,
): (resource: Resource, action: Action) => string {
  const [fromRoles, fromPermissions] = [rightsOf(roles, []), rightsOf([], permissions)];
  return (resource, action) => {
    const right: Permission = `${resource}:${action}`;
    if (fromRoles.has(right)) return fromPermissions.has(right) ? yellow(symbols.fromBoth) : cyan(symbols.fromRole);
    return fromPermissions.has(right) ? green(symbols.fromPermission) : dim(symbols.none);
  };
}

/**
 * The effective rights of a key. Resources without any right are left out; where every resource has some, those that
 * have the same as most others share a row.
 *
 * @param columns how wide the terminal is
 * @returns lines, of which the last one says what the marks mean
 */
export function drawRights(
  roles: readonly Role[],
  permissions: readonly Permission[],
  columns: number,
  style: Style,
): readonly string[] {
  const mark = markRights(roles, permissions, style);
  const rows = rowsOf(
    rightsOf(roles, permissions),
    (resource) => ACTIONS.map((action) => mark(resource, action)),
  );
  const layout = layoutMatrix(rows.map(({ label }) => label), columns, style);
  return [
    ...matrixHeader(layout),
    ...rows.map(({ label, marks }) => matrixRow(layout, " ".repeat(MARGIN), label, marks)),
    "",
    ...legend(rows, layout, columns),
  ];
}

/** How many rows have to be alike to share one. */
const FEWEST_ALIKE = 4;

interface Row {
  readonly label: string;
  readonly marks: readonly string[];
}

function rowsOf(rights: Rights, marksOf: (resource: Resource) => readonly string[]): readonly Row[] {
  const rows = RESOURCES.filter((resource) => ACTIONS.some((action) => rights.has(`${resource}:${action}`))).map(
    (resource) => ({ label: resource, marks: marksOf(resource) }),
  );
  if (rows.length < RESOURCES.length) return rows;
  const alike = Object.values(Object.groupBy(rows, ({ marks }) => marks.join()));
  const most = alike.reduce<readonly Row[]>((most, group = []) => group.length > most.length ? group : most, []);
  if (most.length < FEWEST_ALIKE) return rows;
  const others = rows.filter((row) => !most.includes(row));
  const label = others.length === 0 ? `all ${rows.length} resources` : `the other ${most.length}`;
  return [...others, { label, marks: most[0]?.marks ?? [] }];
}

/** What the marks mean that are there. */
function legend(
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
  const words = meanings.flatMap(([mark, meaning]) => marks.includes(mark) ? [`${mark} ${meaning}`] : []);
  return wrapWords([...words, ...(isWide ? [] : ["a any", "o own"])], columns - MARGIN - 1, "  ")
    .map((line) => `${" ".repeat(MARGIN)}${dim(line)}`);
}
