import type { MarkState } from "../../../api/types.gen";
import type { Tone } from "../../../ui/glyphs";

/** The states of marks in the tones of the page; a finished task is as calm as an idle rank. */
export const toneOf = (state: MarkState): Tone => (state === "finished" ? "idle" : state);
