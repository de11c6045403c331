import type { Catalog } from "../i18n";

/** "48s", "2m 14s", "14h 22m", "3d 4h": the two largest units, which is as exact as anyone reads. */
export function formatDuration(ms: number, units: Catalog["units"]): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  const two = (value: number) => String(value).padStart(2, "0");
  if (s < 60) return `${s}${units.s}`;
  if (s < 3600) return `${Math.floor(s / 60)}${units.m} ${two(s % 60)}${units.s}`;
  if (s < 86_400) return `${Math.floor(s / 3600)}${units.h} ${two(Math.floor((s % 3600) / 60))}${units.m}`;
  return `${Math.floor(s / 86_400)}${units.d} ${Math.floor((s % 86_400) / 3600)}${units.h}`;
}

/** "14:32:08" in the browser's time zone. */
export const formatTime = (ms: number): string => new Date(ms).toLocaleTimeString("en-GB", { hour12: false });

/** "0–7, 9, 12–13" */
export function formatRanks(ranks: readonly number[]): string {
  const sorted = [...new Set(ranks)].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; ) {
    let end = i;
    while (end + 1 < sorted.length && sorted[end + 1] === (sorted[end] as number) + 1) end++;
    parts.push(end === i ? `${sorted[i]}` : `${sorted[i]}–${sorted[end]}`);
    i = end + 1;
  }
  return parts.join(", ");
}

/** "create_colocated_worker_cls.<locals>.WorkerDict" -> "WorkerDict": where a class was written isn't what it is. */
export const shortClass = (name: string): string => name.slice(name.lastIndexOf(".") + 1) || name;

/** "/opt/env/bin/python train.py" -> "python train.py", "python /opt/env/bin/train 1" -> "train 1": folders of programs
 * push out what differs between jobs. */
export const shortCommand = (command: string): string =>
  command.replace(/^(\S*\/)?python[\d.]* (?=\/\S*\/bin\/)/, "").replace(/^\/\S*\/(?=[^\s/]+(\s|$))/, "");

/** What a command runs: "python3 -m verl.trainer.main_ppo a=b" -> "main_ppo", "python /srv/train.py 8" -> "train.py". */
export function scriptOf(command: string): string {
  const module = /(?:^|\s)-m\s+(\S+)/.exec(command)?.[1];
  if (module) return module.slice(module.lastIndexOf(".") + 1);
  const file = command.split(/\s+/).find((part) => part.endsWith(".py"));
  return baseName(file ?? shortCommand(command));
}

export const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1) || path;

export const shortId = (id: string): string => id.slice(0, 8);
