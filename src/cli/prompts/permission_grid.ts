/**
 * The prompt for permissions: a grid with a row for each resource and a column for each action. In the first row, Space
 * or Tab selects an action for every resource that matches the filter. To the left of the first column, it selects every
 * action of a row.
 */
import type { Key } from "node:readline";
import { type Action, ACTIONS, type Permission } from "../../apikey/permission.ts";
import { rightsOf } from "../../apikey/rights.ts";
import { layoutMatrix, markRights, matrixHeader, type MatrixLayout, matrixRow } from "../terminal/rights_matrix.ts";
import { truncate, widthOf } from "../terminal/text_width.ts";
import { wrapWords } from "../terminal/wrap.ts";
import { drawRows, editFilter, isSelectKey, MOVE_KEYS, moveFocus, SCROLL_BAR_WIDTH } from "./list_navigation.ts";
import type { PermissionsOptions } from "./options.ts";
import {
  formatCount,
  formatOptional,
  hiddenSelectionLines,
  NONE_AGAIN,
  nothingSelected,
  PROMPT_LINE_MARGIN,
  selectionKeys,
  toggle,
} from "./selection.ts";
import { errorLines, promptLine, runView, type Screen } from "./run_prompt.ts";

/** The label of the first row. */
const EVERY_RESOURCE = "every resource";

/** The row that stands for every resource that matches the filter, and the column that stands for every action. */
const ALL_ROW = 0;
const ALL_COLUMN = -1;

/** What the other keys do. */
const GRID_KEYS = [
  ...MOVE_KEYS,
  "first row for all resources shown",
  "left to the name for all actions",
];

/** Lines above the resources: the prompt, two header lines, and the row for all resources. */
const LINES_ABOVE = 4;

/** How many permissions the answered prompt lists at most. If more are selected, it shows only their number. */
const MAX_LISTED = 5;

/**
 * Asks for permissions. Accepts an empty selection only if the key has a role.
 *
 * @returns the selected permissions, in the order of `resources` and `ACTIONS`
 * @throws {Failure} `INTERRUPTED`
 * @throws {GoBack}
 */
export async function selectPermissions(
  options: PermissionsOptions,
  screen: Screen,
): Promise<readonly Permission[]> {
  const { label, resources, roles, byRoles = new Set(), anyIncludesOwn, initial = [], canGoBack = false } = options;
  const { style, terminal } = screen;
  const { cyan, dim, symbols } = style;
  const selected = new Set<Permission>(initial);
  let filter = "";
  let visible = resources;
  let row = 1;
  let column = 0;
  /** How many resources are on the screen. */
  let page = 0;
  /** Whether the last keys moved the focus. Enter may then be meant to select the focused permission. */
  let hasMoved = false;

  function pairsAt(row: number, column: number): readonly Permission[] {
    const rows = row === ALL_ROW ? visible : visible.slice(row - 1, row);
    const actions = column === ALL_COLUMN ? ACTIONS : ACTIONS.slice(column, column + 1);
    return pairsOf(rows, actions);
  }

  /**
   * Filters the resources. If the text names an action too, moves the focus to that action. If it names only an action,
   * shows all resources and moves the focus to that action in the first row.
   */
  function applyFilter(text: string): void {
    if (text === filter) return;
    const { words, action } = parseFilter(text, resources);
    const focused = visible[row - 1];
    const actionColumn = ACTIONS.findIndex((candidate) => action !== "" && candidate.startsWith(action));
    filter = text;
    visible = withWords(resources, words);
    const exact = visible.findIndex((resource) => resource === words.join("_"));
    const index = Math.max(0, exact >= 0 ? exact : visible.findIndex((resource) => resource === focused));
    row = words.length === 0 && actionColumn >= 0 ? ALL_ROW : Math.min(visible.length, 1 + index);
    if (actionColumn >= 0) column = actionColumn;
  }

  function handleKey(typed: string | undefined, key: Key): boolean {
    const target = moveFocus(row, visible.length + 1, key, page);
    if (key.name !== "return") hasMoved = target !== undefined || key.name === "left" || key.name === "right";
    if (key.name === "left") column = column === ALL_COLUMN ? ACTIONS.length - 1 : column - 1;
    else if (key.name === "right") column = column === ACTIONS.length - 1 ? ALL_COLUMN : column + 1;
    else if (target !== undefined) row = target;
    else if (isSelectKey(key, true)) toggle(selected, pairsAt(row, column));
    else applyFilter(editFilter(filter, typed, key));
    return false;
  }

  /** The lines below the resources. */
  function linesBelow(layout: MatrixLayout, footer: readonly string[]): readonly string[] {
    const room = terminal.size().columns - 3;
    const hidden = [...selected].filter((pair) => !visible.some((resource) => pair.startsWith(`${resource}:`)));
    const all = `  ${truncate([...selected].join(symbols.separator), room, symbols.ellipsis)}`.trimEnd();
    return [
      ...(hidden.length === 0 ? [all] : hiddenSelectionLines(hidden, screen)),
      ...legendLines(options, layout, room).map((line) => dim(`  ${line}`)),
      ...footer,
    ];
  }

  function draw(footer: readonly string[]): string {
    const { columns } = terminal.size();
    const rightsFromSelected = anyIncludesOwn ? rightsOf([], [...selected], resources) : selected;
    const grantedMark = markRights(byRoles, rightsFromSelected, style);
    const markFor = (resource: string, action: Action): string => {
      const pair: Permission = `${resource}:${action}`;
      return rightsFromSelected.has(pair) && !selected.has(pair) && !byRoles.has(pair)
        ? symbols.included
        : grantedMark(resource, action);
    };
    const layout = layoutMatrix([...resources, EVERY_RESOURCE], columns - SCROLL_BAR_WIDTH, style);
    const formatRow = (index: number, name: string, marks: readonly string[]): string => {
      const isFocused = index === row;
      const start = isFocused ? `${cyan(symbols.pointer)}${column === ALL_COLUMN ? "[" : " "}` : "  ";
      return matrixRow(layout, start, name, marks, isFocused ? column : undefined);
    };
    const allRowMarks = ACTIONS.map((action) => {
      const [mark = "", ...others] = new Set(visible.map((resource) => markFor(resource, action)));
      return others.length === 0 ? mark : symbols.partial;
    });
    const below = linesBelow(layout, footer);
    const focusedIndex = Math.max(0, row - 1);
    const rows = drawRows(visible.length, focusedIndex, LINES_ABOVE + below.length, (index) => {
      const resource = visible[index] ?? "";
      return formatRow(index + 1, resource, ACTIONS.map((action) => markFor(resource, action)));
    }, screen);
    page = rows.page;
    const room = columns - widthOf(label + filter) - PROMPT_LINE_MARGIN;
    const total = resources.length * ACTIONS.length;
    const isOptional = selected.size === 0 && roles.length > 0;
    const count = dim(isOptional ? formatOptional(total, room) : formatCount(selected.size, total, undefined, room));
    return [
      promptLine(label, `${filter}${symbols.cursor} ${count}`, style),
      ...matrixHeader(layout),
      ...(visible.length > 0
        ? [formatRow(ALL_ROW, formatAllRow(filter, visible), allRowMarks), ...rows.lines]
        : errorLines("No matches.", screen)),
      ...below,
    ].join("\n");
  }

  function validate(): string | undefined {
    const isRequired = roles.length === 0;
    if (selected.size > 0 || !(filter !== "" || isRequired || hasMoved)) return undefined;
    hasMoved = false;
    const [pair, ...others] = pairsAt(row, column);
    const focused = others.length === 0 ? pair : `${others.length + 1} permissions`;
    if (filter !== "" || !isRequired) return nothingSelected(focused, { filter, alternative: NONE_AGAIN });
    return `The key has no role, so it needs a permission. Press Space to select ${focused}.`;
  }

  const answer = (): readonly Permission[] => pairsOf(resources, ACTIONS).filter((pair) => selected.has(pair));
  await runView({
    label,
    canGoBack,
    keys: () => selectionKeys({ filter, canGoBack, spaceSelects: true, others: GRID_KEYS }),
    clearFilter: () => {
      const hasFilter = filter !== "";
      applyFilter("");
      return hasFilter;
    },
    saveDraft: () => options.saveDraft?.(answer()),
    draw,
    handleKey,
    answer: () => selected.size > MAX_LISTED ? `${selected.size}` : answer().join(", ") || "none",
    validate,
  }, screen);
  return answer();
}

/** The words of a filter that a resource must contain, and the prefix of an action; each in upper case. */
interface Filter {
  readonly words: readonly string[];
  /** Empty if the filter names no action. */
  readonly action: string;
}

/**
 * Splits a filter, for example `docker`, `docker:read` or `docker read`. A word after a colon is an action. Without a colon,
 * the last word is an action if no resource contains all words.
 */
function parseFilter(text: string, resources: readonly string[]): Filter {
  const [resource = "", action] = text.toUpperCase().split(":");
  const words = resource.split(/\s+/).filter((word) => word !== "");
  const last = words.at(-1) ?? "";
  if (action !== undefined || withWords(resources, words).length > 0) return { words, action: action?.trim() ?? "" };
  const isAction = ACTIONS.some((candidate) => candidate.startsWith(last));
  return isAction ? { words: words.slice(0, -1), action: last } : { words, action: "" };
}

function withWords(resources: readonly string[], words: readonly string[]): readonly string[] {
  return resources.filter((resource) => words.every((word) => resource.includes(word)));
}

function pairsOf(resources: readonly string[], actions: readonly Action[]): readonly Permission[] {
  return resources.flatMap((resource) => actions.map((action): Permission => `${resource}:${action}`));
}

/** The label of the first row. With a filter, the row stands only for the resources that match. */
function formatAllRow(filter: string, visible: readonly string[]): string {
  if (filter === "" || visible.length === 0) return EVERY_RESOURCE;
  return visible.length === 1 ? "the one shown" : `all ${visible.length} shown`;
}

/** Explains the marks in the rows, and the header of a narrow grid. A narrow grid gets short explanations. */
function legendLines(
  { roles, byRoles, anyIncludesOwn }: PermissionsOptions,
  { isWide, style: { symbols } }: MatrixLayout,
  columns: number,
): readonly string[] {
  const { fromRole, fromPermission, fromBoth, included, partial } = symbols;
  const marksRoles = roles.length > 0 && byRoles !== undefined;
  const entries = [
    ...(marksRoles ? [`${fromRole} ${isWide ? "by " : ""}role`] : []),
    `${fromPermission} selected`,
    ...(marksRoles ? [`${fromBoth} both`] : []),
    ...(anyIncludesOwn ? [`${included} ${isWide ? "included in" : "by"} ANY`] : []),
    `${partial} some`,
    ...(isWide ? [] : ["a any", "o own"]),
    ...(byRoles === undefined ? ["rights by role not reported"] : []),
  ];
  return wrapWords(entries, columns, "  ");
}
