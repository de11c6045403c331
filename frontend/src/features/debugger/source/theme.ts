// How code looks: the page's own tokens, so that both themes are one.
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const highlight = HighlightStyle.define([
  {
    tag: [tags.keyword, tags.bool, tags.null, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword],
    color: "var(--syn-keyword)",
  },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--syn-string)" },
  { tag: tags.number, color: "var(--syn-number)" },
  { tag: tags.comment, color: "var(--syn-comment)", fontStyle: "italic" },
  {
    tag: [
      tags.function(tags.variableName),
      tags.function(tags.propertyName),
      tags.function(tags.definition(tags.variableName)),
    ],
    color: "var(--syn-function)",
  },
  { tag: [tags.meta, tags.annotation], color: "var(--syn-decorator)" },
  { tag: tags.self, color: "var(--syn-name)" },
  { tag: tags.className, color: "var(--syn-function)" },
]);

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "12px", backgroundColor: "var(--surface)", color: "var(--fg)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "19px", overflow: "auto" },
  ".cm-content": { padding: "4px 0 40px", caretColor: "var(--fg)" },
  ".cm-line": { padding: "0 14px 0 4px" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--fg-3)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { fontSize: "11px", padding: "0 8px 0 2px", minWidth: "38px" },
  ".cm-marks": { width: "22px", cursor: "pointer" },
  ".cm-marks .cm-gutterElement": { display: "grid", placeItems: "center", padding: "0" },
  ".cm-marks .cm-gutterElement:hover:empty::after": {
    content: '""',
    width: "9px",
    height: "9px",
    borderRadius: "50%",
    backgroundColor: "var(--pause)",
    opacity: "0.35",
  },
  ".cm-marks svg": { display: "block", overflow: "visible" },
  ".cm-current": { backgroundColor: "var(--curline)", boxShadow: "inset 3px 0 0 var(--curline-b)" },
  ".cm-caller": { backgroundColor: "var(--accent-bg)", boxShadow: "inset 3px 0 0 var(--accent)" },
  ".cm-currentGutter": { color: "var(--fg)", fontWeight: "700", backgroundColor: "var(--curline)" },
  ".cm-callerGutter": { color: "var(--fg)", fontWeight: "700", backgroundColor: "var(--accent-bg)" },
  ".cm-inline": {
    color: "var(--fg-3)",
    fontStyle: "italic",
    fontSize: "11.5px",
    paddingLeft: "18px",
    pointerEvents: "none",
    whiteSpace: "pre",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)",
    border: "1px solid var(--line-2)",
    borderRadius: "var(--r-s)",
    boxShadow: "var(--shadow-2)",
  },
  ".cm-hover": {
    padding: "4px 8px",
    maxWidth: "560px",
    maxHeight: "220px",
    overflow: "auto",
    font: "11.5px/1.5 var(--mono)",
    overflowWrap: "anywhere",
  },
  ".cm-hover b": { color: "var(--syn-name)", fontWeight: "400" },
  ".cm-hover i": { color: "var(--fg-3)", fontStyle: "normal" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    backgroundColor: "var(--accent-line)",
  },
  ".cm-activeLine:not(.cm-current):not(.cm-caller)": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { boxShadow: "inset 0 0 0 1px var(--line)" },
  "&.cm-focused .cm-activeLine.cm-current": {
    boxShadow: "inset 3px 0 0 var(--curline-b), inset 0 0 0 1px var(--line-2)",
  },
  ".cm-panels": { backgroundColor: "var(--surface-2)", color: "var(--fg)", borderBottom: "1px solid var(--line)" },
  ".cm-panels button, .cm-panels input": {
    backgroundColor: "var(--surface)",
    backgroundImage: "none",
    color: "var(--fg)",
    border: "1px solid var(--line-2)",
    borderRadius: "var(--r-s)",
  },
  ".cm-searchMatch": { backgroundColor: "color-mix(in srgb, var(--slow-f) 45%, transparent)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--slow-f)" },
});

export const codeTheme = [look, syntaxHighlighting(highlight)];
