/**
 * Asks for permissions in a grid of resources and actions: arrow keys move, Space ticks, and what is typed filters
 * the resources. In the first row a tick is for an action on every resource shown, before a row for all its actions.
 */
import type { Key } from "node:readline";
import { type Action, ACTIONS, type Permission, type Resource, RESOURCES } from "../../apikey/permission.ts";
import { EVERY_RIGHT, rightsOf } from "../../apikey/rights.ts";
import type { Role } from "../../apikey/role.ts";
import type { Style } from "../terminal/style.ts";
import { layoutMatrix, markRights, matrixHeader, matrixRow } from "../terminal/rights_matrix.ts";
import { cut, widthOf } from "../terminal/text_width.ts";
import { edited, moved, pageOf, windowOf } from "./list_keys.ts";
import type { PermissionsQuestion } from "./question.ts";
import { BESIDE_COUNT, countOf, toggle } from "./selection.ts";
import { problemLines, questionLine, runView, type Screen } from "./run_prompt.ts";

const EVERY = "every resource";

/** Lines beside the rows: the question, two of the header, the first row, and three below. */
const OTHER_LINES = 7;

/**
 * Asks for permissions; with roles none is an answer too.
 *
 * @returns pairs in the order of the lists of resources and actions
 * @throws {Failure} `INTERRUPTED`
 */
export async function selectPermissions(
  { label, roles }: PermissionsQuestion,
  screen: Screen,
): Promise<readonly Permission[]> {
  const { style, terminal } = screen;
  const { cyan, dim, symbols } = style;
  const byRole = rightsOf(roles, []);
  const legend = legendOf(roles, style);
  const ticked = new Set<Permission>();
  let filter = "";
  let shown: readonly Resource[] = RESOURCES;
  // Row 0 is for every resource shown; column -1 for every action.
  let row = 1;
  let column = 0;

  function pairsAt(atRow: number, atColumn: number): readonly Permission[] {
    const resources = atRow === 0 ? shown : shown.slice(atRow - 1, atRow);
    const actions = atColumn < 0 ? ACTIONS : ACTIONS.slice(atColumn, atColumn + 1);
    return resources.flatMap((resource) => actions.map((action): Permission => `${resource}:${action}`));
  }

  function refilter(text: string): void {
    if (text === filter) return;
    const [word = "", action = word] = text.toUpperCase().split(":");
    const focused = shown[row - 1];
    const matches = RESOURCES.filter((resource) => resource.includes(word));
    const actionAt = ACTIONS.findIndex((known) => action !== "" && known.startsWith(action));
    const isAction = actionAt >= 0 && matches.length === 0;
    filter = text;
    shown = isAction ? RESOURCES : matches;
    const exact = shown.findIndex((resource) => resource === word);
    const position = Math.max(0, exact >= 0 ? exact : shown.findIndex((resource) => resource === focused));
    row = isAction ? 0 : Math.min(shown.length, 1 + position);
    if (isAction || (actionAt >= 0 && text.includes(":"))) column = actionAt;
  }

  function press(typed: string | undefined, key: Key): boolean {
    const target = moved(row, shown.length + 1, key, pageOf(screen, OTHER_LINES));
    if (key.name === "left") column = column < 0 ? ACTIONS.length - 1 : column - 1;
    else if (key.name === "right") column = column === ACTIONS.length - 1 ? -1 : column + 1;
    else if (target !== undefined) row = target;
    else if (key.name === "space") toggle(ticked, pairsAt(row, column));
    else refilter(edited(filter, typed, key));
    return false;
  }

  function draw(refusal: string | undefined): string {
    const { columns } = terminal.size();
    const layout = layoutMatrix([...RESOURCES, EVERY], columns, style);
    const givenMark = markRights(roles, [...ticked], style);
    const rights = rightsOf([], [...ticked]);
    const markOf = (resource: Resource, action: Action): string => {
      const pair: Permission = `${resource}:${action}`;
      return rights.has(pair) && !ticked.has(pair) && !byRole.has(pair)
        ? symbols.contained
        : givenMark(resource, action);
    };
    const line = (position: number, name: string, marks: readonly string[]): string => {
      const isFocused = position === row;
      const start = isFocused ? `${cyan(symbols.pointer)}${column < 0 ? "[" : " "}` : "  ";
      return matrixRow(layout, start, name, marks, isFocused ? column : undefined);
    };
    const ofAll = ACTIONS.map((_action, atColumn) => {
      const pairs = pairsAt(0, atColumn);
      const count = pairs.filter((pair) => ticked.has(pair)).length;
      if (count === 0) return dim(symbols.none);
      return count === pairs.length ? symbols.fromPermission : symbols.some;
    });
    const rows = windowOf(shown.length, Math.max(0, row - 1), pageOf(screen, OTHER_LINES)).flatMap((index) => {
      const resource = shown[index];
      if (resource === undefined) return [];
      return line(index + 1, resource, ACTIONS.map((action) => markOf(resource, action)));
    });
    const help = ["space ticks", "enter ends", "arrows move", "letters filter"].join(symbols.separator);
    const room = columns - widthOf(label + filter) - BESIDE_COUNT;
    const count = dim(countOf(ticked.size, shown.length, RESOURCES.length, room));
    return [
      questionLine(label, `${filter}${symbols.cursor} ${count}`, style),
      ...matrixHeader(layout),
      line(0, EVERY, ofAll),
      ...(rows.length > 0 ? rows : problemLines("No resource has that in its name.", screen)),
      `  ${cut([...ticked].join(symbols.separator), columns - 3, symbols.ellipsis)}`.trimEnd(),
      dim(`  ${cut(legend, columns - 3, symbols.ellipsis)}`),
      ...(refusal === undefined
        ? [dim(`  ${cut(help, columns - 3, symbols.ellipsis)}`)]
        : problemLines(refusal, screen)),
    ].join("\n");
  }

  const answer = (): readonly Permission[] => [...EVERY_RIGHT].filter((pair) => ticked.has(pair));
  await runView({
    label,
    draw,
    press,
    answer: () => answer().length > 5 ? `${answer().length}` : answer().join(", ") || "none",
    refuse: () => roles.length + ticked.size === 0 ? "A key without a role needs at least one permission." : undefined,
  }, screen);
  return answer();
}

/** What the marks of the rows mean. */
function legendOf(roles: readonly Role[], { symbols }: Style): string {
  const { fromRole, fromPermission, fromBoth, contained } = symbols;
  const byRole = roles.length === 0 ? [] : [`${fromRole} by role`];
  const byBoth = roles.length === 0 ? [] : [`${fromBoth} both`];
  return [...byRole, `${fromPermission} ticked`, ...byBoth, `${contained} in ANY`].join("  ");
}
