// What is said of a value on one line: what it is before what is in it.
import type { Summary } from "../../api/types.gen";

export interface Valued {
  value: string;
  type?: string;
  summary?: Summary | null;
}

export interface Said {
  /** The value itself, or for what has a shape its type with the shape. */
  main: string;
  look: "number" | "text" | "word" | "plain" | "wrong";
  /** dtype and device, or length. */
  meta: string;
  /** What is in it, where `main` doesn't say it. */
  rest: string;
}

const SHORT: Record<string, string> = {
  float32: "f32",
  float64: "f64",
  float16: "f16",
  bfloat16: "bf16",
  int64: "i64",
  int32: "i32",
  int16: "i16",
  int8: "i8",
  uint8: "u8",
};

export function shortDtype(dtype: string): string {
  const name = dtype.replace(/^torch\./, "");
  return SHORT[name] ?? name;
}

const HEAD =
  /^[\w.]+\[[\d×]*\](?: (?:torch\.)?(?:bool|b?float\d*|u?int\d*|complex\d*|q\w+))?(?: (?:cuda|mps|xpu|meta|hpu)\S*)?(?: grad)? ?/;

const bareType = (type: string): string => type.slice(type.lastIndexOf(".") + 1);

export function lookOf(type: string | undefined, value: string): Said["look"] {
  if (type === "error") return "wrong";
  if (type === "int" || type === "float" || type === "complex") return "number";
  if (type === "str" || type === "bytes") return "text";
  if (type === "bool" || type === "NoneType" || value === "None" || value === "True" || value === "False")
    return "word";
  return "plain";
}

export function say({ value, type = "", summary }: Valued): Said {
  const look = lookOf(type, value);
  if (!summary) return { main: value, look, meta: "", rest: "" };
  const { shape, dtype, device, length } = summary;
  const meta = [dtype ? shortDtype(dtype) : "", device && device !== "cpu" ? device : ""].filter(Boolean).join(" ");
  if (shape) {
    // The probe's text begins with type, shape and dtype, which are said here already.
    const rest = summary.pending ? "" : value.replace(HEAD, "");
    if (shape.length === 0 && rest !== "") return { main: rest, look: "number", meta, rest: "" };
    return { main: `${bareType(type) || summary.kind}(${shape.join(", ")})`, look: "plain", meta, rest };
  }
  if (look === "text") return { main: value, look, meta: "", rest: "" };
  if (length !== null && length !== undefined)
    return { main: bareType(type) || summary.kind, look: "plain", meta: `len ${length}`, rest: value };
  return { main: value, look, meta, rest: "" };
}

/** What can be looked into in the panel: statistics, heat map, table. */
export const isArray = (summary: Summary | null | undefined): boolean =>
  summary !== null && summary !== undefined && summary.shape !== null && summary.shape !== undefined;
