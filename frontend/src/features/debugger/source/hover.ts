// What a value is asked for under the pointer: names, attributes and subscripts, never a call.
import type { SyntaxNode, Tree } from "@lezer/common";

const HARMLESS = new Set([
  "VariableName",
  "MemberExpression",
  "PropertyName",
  "Number",
  "String",
  "UnaryExpression",
  "ArithOp",
  ".",
  "[",
  "]",
  ":",
  "self",
]);

function harmless(node: SyntaxNode): boolean {
  if (!HARMLESS.has(node.name)) return false;
  for (let child = node.firstChild; child; child = child.nextSibling) if (!harmless(child)) return false;
  return true;
}

/** The expression at a position: of `a.b[0].c` with the pointer on `b` it is `a.b`. */
export function expressionAt(
  tree: Tree,
  text: string,
  position: number,
): { from: number; to: number; text: string } | null {
  for (const side of [1, -1] as const) {
    let node: SyntaxNode | null = tree.resolveInner(position, side);
    if (node.name === "PropertyName") node = node.parent;
    if (!node || !(node.name === "VariableName" || node.name === "MemberExpression" || node.name === "self")) continue;
    if (node.name === "VariableName" && isBoundThere(node)) continue;
    if (!harmless(node)) continue;
    return { from: node.from, to: node.to, text: text.slice(node.from, node.to) };
  }
  return null;
}

/** A keyword's name in a call, a function's own name: no value of this frame. */
function isBoundThere(node: SyntaxNode): boolean {
  const { parent } = node;
  if (parent?.name === "ArgList") return node.nextSibling?.name === "AssignOp";
  return parent?.name === "FunctionDefinition" || parent?.name === "ClassDefinition";
}
