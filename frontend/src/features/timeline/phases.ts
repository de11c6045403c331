// What a method's name says of the phase it belongs to, so that the same work has the same colour on every lane.

export const PHASES = [
  "rollout",
  "reward",
  "log_prob",
  "ref",
  "values",
  "update_critic",
  "update_actor",
  "other",
] as const;
export type Phase = (typeof PHASES)[number];

/** The first that fits counts: `compute_ref_log_prob` is `ref`. */
const PATTERNS: readonly [RegExp, Phase][] = [
  [/(^|_)ref(_|$|erence)/, "ref"],
  [/log_?probs?/, "log_prob"],
  [/update_(actor|policy)|train_step|train_batch|fit_batch|optimi[sz]er_step/, "update_actor"],
  [/update_critic/, "update_critic"],
  [/(^|_)values?($|_)/, "values"],
  [/reward|score|verif(y|ier)|judge/, "reward"],
  [/rollout|generat|sample_seq/, "rollout"],
  [
    /^(driver|run|fit|main|__init__|init_.*|save_.*|load_.*|.*checkpoint.*|.*sync.*|ping|get_.*|set_.*|.*\.py)$/,
    "other",
  ],
];
const HUES: readonly Phase[] = PHASES.filter((phase) => phase !== "other");

function hash(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return (h ^ (h >>> 15)) >>> 0;
}

const known = new Map<string, Phase>();

/** A phase by its name's pattern; other names get one of the hues, the same each time. */
export function phaseOf(name: string): Phase {
  let phase = known.get(name);
  if (phase === undefined) {
    const method = name.slice(name.lastIndexOf(".") + 1).toLowerCase() || name;
    const text = /\.py$/.test(name) ? name : method;
    phase = PATTERNS.find(([pattern]) => pattern.test(text))?.[1] ?? (HUES[hash(text) % HUES.length] as Phase);
    if (known.size > 20_000) known.clear(); // names are the job's: there may be any number of them
    known.set(name, phase);
  }
  return phase;
}

/** Whether a name was known by its pattern: the legend shows these. */
export const inPattern = (name: string): boolean => PATTERNS.some(([pattern]) => pattern.test(name.toLowerCase()));

export const phaseToken = (phase: Phase): string => `--p-${phase.replaceAll("_", "-")}`;
