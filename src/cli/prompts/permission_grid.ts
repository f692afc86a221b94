/**
 * The prompt for permissions: a grid with a row for each resource and a column for each action. In the first row, Space
 * selects an action for every resource that matches the filter. To the left of the first column, Space selects every
 * action of a row.
 */
import type { Key } from "node:readline";
import { type Action, ACTIONS, type Permission, type Resource, RESOURCES } from "../../apikey/permission.ts";
import { EVERY_RIGHT, rightsOf } from "../../apikey/rights.ts";
import type { Role } from "../../apikey/role.ts";
import type { Style } from "../terminal/style.ts";
import { layoutMatrix, markRights, matrixHeader, matrixRow } from "../terminal/rights_matrix.ts";
import { truncate, widthOf } from "../terminal/text_width.ts";
import { editFilter, moveFocus, pageSize, visibleRange } from "./list_navigation.ts";
import type { PermissionsOptions } from "./options.ts";
import { formatCount, PROMPT_LINE_MARGIN, toggle } from "./selection.ts";
import { errorLines, keyHelpLine, promptLine, runView, type Screen } from "./run_prompt.ts";

/** The label of the first row. */
const EVERY_RESOURCE = "every resource";

/** The row that stands for every resource that matches the filter, and the column that stands for every action. */
const ALL_ROW = 0;
const ALL_COLUMN = -1;

/** Lines besides the resources: the prompt, two header lines, the first row, and three lines below. */
const OTHER_LINES = 7;

/** How many permissions the answered prompt lists at most. If more are selected, it shows only their number. */
const MAX_LISTED = 5;

/**
 * Asks for permissions. Accepts an empty selection only if the key has a role.
 *
 * @returns the selected permissions, in the order of `RESOURCES` and `ACTIONS`
 * @throws {Failure} `INTERRUPTED`
 */
export async function selectPermissions(
  { label, roles }: PermissionsOptions,
  screen: Screen,
): Promise<readonly Permission[]> {
  const { style, terminal } = screen;
  const { cyan, dim, symbols } = style;
  const rightsFromRoles = rightsOf(roles, []);
  const legend = formatLegend(roles, style);
  const selected = new Set<Permission>();
  let filter = "";
  let visible: readonly Resource[] = RESOURCES;
  let row = 1;
  let column = 0;

  function pairsAt(row: number, column: number): readonly Permission[] {
    const resources = row === ALL_ROW ? visible : visible.slice(row - 1, row);
    const actions = column === ALL_COLUMN ? ACTIONS : ACTIONS.slice(column, column + 1);
    return resources.flatMap((resource) => actions.map((action): Permission => `${resource}:${action}`));
  }

  /**
   * Filters the resources. If the text is `RESOURCE:ACTION`, also moves the focus to that action. If the text is only
   * an action, shows all resources and moves the focus to that action in the first row.
   */
  function applyFilter(text: string): void {
    if (text === filter) return;
    const [word = "", actionPrefix = word] = text.toUpperCase().split(":");
    const focused = visible[row - 1];
    const matches = RESOURCES.filter((resource) => resource.includes(word));
    const actionColumn = ACTIONS.findIndex((action) => actionPrefix !== "" && action.startsWith(actionPrefix));
    const isAction = actionColumn >= 0 && matches.length === 0;
    filter = text;
    visible = isAction ? RESOURCES : matches;
    const exact = visible.findIndex((resource) => resource === word);
    const index = Math.max(0, exact >= 0 ? exact : visible.findIndex((resource) => resource === focused));
    row = isAction ? ALL_ROW : Math.min(visible.length, 1 + index);
    if (isAction || (actionColumn >= 0 && text.includes(":"))) column = actionColumn;
  }

  function handleKey(typed: string | undefined, key: Key): boolean {
    const target = moveFocus(row, visible.length + 1, key, pageSize(screen, OTHER_LINES));
    if (key.name === "left") column = column === ALL_COLUMN ? ACTIONS.length - 1 : column - 1;
    else if (key.name === "right") column = column === ACTIONS.length - 1 ? ALL_COLUMN : column + 1;
    else if (target !== undefined) row = target;
    else if (key.name === "space") toggle(selected, pairsAt(row, column));
    else applyFilter(editFilter(filter, typed, key));
    return false;
  }

  function draw(error: string | undefined): string {
    const { columns } = terminal.size();
    const layout = layoutMatrix([...RESOURCES, EVERY_RESOURCE], columns, style);
    const grantedMark = markRights(roles, [...selected], style);
    const rightsFromSelected = rightsOf([], [...selected]);
    const markFor = (resource: Resource, action: Action): string => {
      const pair: Permission = `${resource}:${action}`;
      return rightsFromSelected.has(pair) && !selected.has(pair) && !rightsFromRoles.has(pair)
        ? symbols.included
        : grantedMark(resource, action);
    };
    const formatRow = (index: number, name: string, marks: readonly string[]): string => {
      const isFocused = index === row;
      const start = isFocused ? `${cyan(symbols.pointer)}${column === ALL_COLUMN ? "[" : " "}` : "  ";
      return matrixRow(layout, start, name, marks, isFocused ? column : undefined);
    };
    const allRowMarks = ACTIONS.map((_action, index) => {
      const pairs = pairsAt(ALL_ROW, index);
      const count = pairs.filter((pair) => selected.has(pair)).length;
      if (count === 0) return dim(symbols.none);
      return count === pairs.length ? symbols.fromPermission : symbols.partial;
    });
    const focusedIndex = Math.max(0, row - 1);
    const rows = visibleRange(visible.length, focusedIndex, pageSize(screen, OTHER_LINES)).flatMap((index) => {
      const resource = visible[index];
      if (resource === undefined) return [];
      return formatRow(index + 1, resource, ACTIONS.map((action) => markFor(resource, action)));
    });
    const room = columns - widthOf(label + filter) - PROMPT_LINE_MARGIN;
    const count = dim(formatCount(selected.size, visible.length, RESOURCES.length, room));
    return [
      promptLine(label, `${filter}${symbols.cursor} ${count}`, style),
      ...matrixHeader(layout),
      formatRow(ALL_ROW, EVERY_RESOURCE, allRowMarks),
      ...(rows.length > 0 ? rows : errorLines("No matches.", screen)),
      `  ${truncate([...selected].join(symbols.separator), columns - 3, symbols.ellipsis)}`.trimEnd(),
      dim(`  ${truncate(legend, columns - 3, symbols.ellipsis)}`),
      ...(error === undefined
        ? [keyHelpLine(["space to select", "enter to confirm", "arrows to move", "type to filter"], screen)]
        : errorLines(error, screen)),
    ].join("\n");
  }

  const answer = (): readonly Permission[] => [...EVERY_RIGHT].filter((pair) => selected.has(pair));
  await runView({
    label,
    draw,
    handleKey,
    answer: () => selected.size > MAX_LISTED ? `${selected.size}` : answer().join(", ") || "none",
    validate: () =>
      roles.length + selected.size === 0 ? "Select at least one permission: the key has no role." : undefined,
  }, screen);
  return answer();
}

/** Returns the line that explains the marks in the rows. */
function formatLegend(roles: readonly Role[], { symbols }: Style): string {
  const { fromRole, fromPermission, fromBoth, included } = symbols;
  const byRole = roles.length === 0 ? [] : [`${fromRole} by role`];
  const byBoth = roles.length === 0 ? [] : [`${fromBoth} both`];
  return [...byRole, `${fromPermission} selected`, ...byBoth, `${included} included in ANY`].join("  ");
}
