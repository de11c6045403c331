// Values of locals at the ends of the lines that bind them, within the function that is stopped.
import type { Variable } from "../../../api/types.gen";
import { say } from "../values";

const NAME = /[A-Za-z_]\w*/g;
const PER_LINE = 3;
const LONGEST = 36;

const indentOf = (line: string): number => line.length - line.trimStart().length;

/** The first line (from 1) of the function around a line, by indentation; 1 at the module's level. */
export function functionStart(lines: readonly string[], at: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let number = at; number >= 1; number--) {
    const line = lines[number - 1] ?? "";
    if (line.trim() === "" || line.trimStart().startsWith("#")) continue;
    const indent = indentOf(line);
    if (/^\s*(async\s+)?def\s/.test(line) && indent < least) return number;
    least = Math.min(least, indent);
  }
  return 1;
}

const withoutText = (line: string): string =>
  line.replace(/("""|''').*?\1|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g, '""').replace(/#.*$/, "");

/** The names that a line binds, in their order; a guess from one line, never more than names. */
export function boundNames(source: string): string[] {
  const line = withoutText(source);
  const found: string[] = [];
  /** Of a list of targets the plain names: `a, (b, c), d[k], e.f` binds a, b and c. */
  const add = (text: string | undefined) => {
    const parts = (text ?? "").replace(/(^|[\s,([])[([]+/g, "$1").split(",");
    for (const part of parts) {
      const name = /^\s*\*?([A-Za-z_]\w*)\s*[)\]]*\s*$/.exec(part)?.[1];
      if (name !== undefined && !found.includes(name)) found.push(name);
    }
  };
  const def = /^\s*(?:async\s+)?def\s+\w+\s*\((.*)/.exec(line);
  if (def) {
    for (const part of (def[1] ?? "").split(",")) add(/^\s*\*{0,2}([A-Za-z_]\w*)/.exec(part)?.[1]);
    return found.filter((name) => name !== "self" && name !== "cls");
  }
  add(/^\s*(?:async\s+)?for\s+(.+?)\s+in\s/.exec(line)?.[1]);
  for (const [, name] of line.matchAll(/\bas\s+([A-Za-z_]\w*)/g)) add(name);
  for (const [, name] of line.matchAll(/([A-Za-z_]\w*)\s*:=/g)) add(name);
  if (!/^\s*(return|assert|if|while|elif|with|for|raise|yield|import|from|class|@)\b/.test(line))
    add(/^\s*([\w\s,.*()[\]]+?)\s*(?::[^=]+)?(?:[-+*/%&|^@]|\/\/|\*\*|<<|>>)?=(?!=)/.exec(line)?.[1]);
  return found;
}

const namesIn = (source: string): string[] => [...withoutText(source).matchAll(NAME)].map(([name]) => name);

/** What stands at the ends of lines, by line from 1. `current`: the line that is about to run: what it uses is shown. */
export function inlineValues(
  lines: readonly string[],
  current: number,
  variables: readonly Variable[],
): Map<number, string> {
  const locals = new Map(variables.map((one) => [one.name, one]));
  const out = new Map<number, string>();
  const start = functionStart(lines, current);
  for (let number = start; number <= current; number++) {
    const line = lines[number - 1] ?? "";
    const names = number === current ? [...new Set(namesIn(line))] : boundNames(line);
    const parts: string[] = [];
    for (const name of names) {
      const variable = locals.get(name);
      if (!variable || parts.length === PER_LINE || isCallable(variable)) continue;
      const { main, meta } = say(variable);
      if (main.length === 0 || main.length > LONGEST) continue;
      parts.push(`${name} = ${main}${meta ? ` ${meta}` : ""}`.replaceAll("\n", " "));
    }
    if (parts.length > 0) out.set(number, parts.join("   "));
  }
  return out;
}

const isCallable = ({ type = "", name, value }: Variable): boolean =>
  name === "self" ||
  /^(function|method|type|module|builtin_function_or_method)$/.test(type) ||
  value.startsWith("<function");
