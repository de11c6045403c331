// The debugger's commands. Their bodies are checked by the hub; here they get their types.
import { connection, NoAnswer } from "./connection";
import { useLink } from "./stores";
import type {
  AsyncTask,
  Breakpoint,
  Console,
  DapLog,
  Evaluated,
  Frame,
  Look,
  Module,
  Scope,
  SourceBreakpoint,
  SourceText,
  ValueFormat,
  Variables,
} from "./types.gen";

/** DAP's CompletionItem, as much of it as is used. `start`: from 0, in the text that was sent. */
export interface CompletionItem {
  label: string;
  text?: string;
  type?: string;
  start?: number;
  length?: number;
}

export interface StepInTarget {
  id: number;
  label: string;
  line?: number;
}

type Nothing = Record<string, never>;

/** What each command takes, and what its body is. */
export interface Commands {
  attach: [Nothing, Nothing];
  detach: [Nothing, Nothing];
  look: [{ threadId: number; frameId?: number; format?: ValueFormat }, Look];
  stackTrace: [
    { threadId: number; startFrame?: number; levels?: number },
    { stackFrames: Frame[]; totalFrames: number },
  ];
  scopes: [{ frameId: number }, { scopes: Scope[] }];
  variables: [{ variablesReference: number; start?: number; count?: number; format?: ValueFormat }, Variables];
  evaluate: [
    { expression: string; frameId?: number; context: "repl" | "watch" | "hover"; format?: ValueFormat },
    Evaluated,
  ];
  setVariable: [{ frameId: number; evaluateName: string; value: string }, Evaluated];
  completions: [{ text: string; column: number; frameId?: number }, { targets: CompletionItem[] }];
  inspect: [{ variablesReference: number; view: string; [more: string]: unknown }, unknown];
  continue: [{ threadId: number; all?: boolean }, Nothing];
  next: [{ threadId: number }, Nothing];
  stepIn: [{ threadId: number; targetId?: number }, Nothing];
  stepOut: [{ threadId: number }, Nothing];
  pause: [{ threadId?: number }, Nothing];
  runTo: [{ threadId: number; path: string; line: number }, Nothing];
  goto: [{ threadId: number; path: string; line: number }, Nothing];
  stepInTargets: [{ frameId: number }, { targets: StepInTarget[] }];
  setBreakpoints: [{ path: string; breakpoints: SourceBreakpoint[] }, { breakpoints: Breakpoint[] }];
  setFunctionBreakpoints: [{ names: string[] }, Nothing];
  setExceptionBreakpoints: [{ filters: string[]; types?: string[] }, Nothing];
  modules: [{ text?: string; limit?: number }, { modules: Module[]; total: number }];
  source: [{ path: string }, SourceText];
  console: [{ since: number }, Console];
  messages: [{ since: number }, DapLog];
  asyncTasks: [Nothing, { tasks: AsyncTask[] }];
}

export type Command = keyof Commands;

/** Asks a worker's session; rejects with NoAnswer. */
export async function askDebug<C extends Command>(
  workerId: string,
  command: C,
  args: Commands[C][0],
): Promise<Commands[C][1]> {
  const reply = await connection.ask({ type: "debug", worker_id: workerId, command, arguments: args });
  return reply.debug as Commands[C][1];
}

/** Attaches by a click that leads to the debugger's page, which says how it went. */
export const attachByLink = (workerId: string): void => {
  if (useLink.getState().welcome?.role === "debugger") askDebug(workerId, "attach", {}).catch(() => undefined);
};

/** Why a question has no answer, in the hub's words; null: the stream was lost, which the page says anyway. */
export const reasonOf = (error: unknown): string | null =>
  error instanceof NoAnswer ? (error.body?.message ?? null) : String(error);
