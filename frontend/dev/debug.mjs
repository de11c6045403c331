// A made-up debugger for developing the page, and for its tests: answers the commands of one scene's workers.
const BODY = `        for epoch in range(self.config.ppo_epochs):
            for batch_idx, mini_batch in enumerate(mini_batches):
                self.actor_optimizer.zero_grad()
                for micro_batch in mini_batch.split(self.config.ppo_micro_batch_size_per_gpu):
                    entropy, log_prob = self._forward_micro_batch(micro_batch, temperature)
                    pg_loss, clipfrac, ppo_kl, _ = compute_policy_loss(
                        old_log_prob=micro_batch.batch["old_log_probs"],
                        log_prob=log_prob,
                        advantages=micro_batch.batch["advantages"],
                        cliprange=self.config.clip_ratio,
                    )
                    loss = pg_loss / self.gradient_accumulation
                    loss.backward()
                    append_to_dict(metrics, {"actor/pg_loss": pg_loss.detach().item()})

                local_norm = local_grad_norm(self.actor_module)
                grad_norm = self._optimizer_step(local_norm)
                if not torch.isfinite(grad_norm):
                    logger.warning("rank %s: grad_norm is not finite", self.rank)
                append_to_dict(metrics, {"actor/grad_norm": grad_norm.item()})
        self.actor_optimizer.zero_grad()
        return metrics

    def _optimizer_step(self, local_norm):
        """Clips by the norm over all ranks, then steps."""
        grad_norm = all_reduce_norm(local_norm, group=self.dp_group)
        clip_grads_(self.actor_module, self.config.grad_clip, grad_norm)
        self.actor_optimizer.step()
        return grad_norm
`.split("\n");

const FIRST = 212 - BODY.findIndex((line) => line.includes("_optimizer_step(local_norm)"));
const HEAD = [
  "# Copyright (c) made up for developing the page",
  "from __future__ import annotations",
  "",
  "import torch",
  "",
  "",
  "class DataParallelPPOActor:",
  "    @timed",
  "    def update_policy(self, data, temperature=1.0):",
  '        """Updates the policy of one step."""',
  "        metrics = {}",
  "        mini_batches = data.split(self.config.ppo_mini_batch_size)",
];

/** A file of which the lines around `line` are the story's. */
function sourceText(path, line) {
  const lines = [...HEAD];
  if (line === 212) {
    while (lines.length < FIRST - 1) lines.push(lines.length % 7 === 0 ? "" : `        # line ${lines.length + 1}`);
    lines.push(...BODY);
  } else {
    while (lines.length < line - 1)
      lines.push(lines.length % 5 === 0 ? "" : `        value_${lines.length} = ${lines.length}`);
    lines.push("        raise SandboxTimeout(answer)", "");
  }
  const text = lines.join("\n");
  const breakable = lines.flatMap((one, i) => (one.trim() && !one.trim().startsWith("#") ? [i + 1] : []));
  return {
    path,
    text,
    sha256: "0".repeat(64),
    lines: lines.length,
    changed: path.endsWith("reward_fn.py"),
    clipped: 0,
    breakable,
  };
}

const value = (name, text, type, over = {}) => ({ name, value: text, type, evaluateName: name, ...over });
const tensor = (shape, dtype = "torch.bfloat16", device = "cuda:3", over = {}) => ({
  kind: "tensor",
  shape,
  dtype,
  device,
  nbytes: shape.reduce((a, b) => a * b, 2),
  ...over,
});

const THREAD = {
  threadId: 1,
  name: "MainThread",
  state: "stopped",
  reason: "breakpoint",
  text: null,
  task_id: null,
  busy: null,
  unwound: false,
};

/** A body with its whole numbers in hex. */
function inHex(body) {
  if (Array.isArray(body)) return body.map(inHex);
  if (body === null || typeof body !== "object") return body;
  const next = Object.fromEntries(Object.entries(body).map(([name, one]) => [name, inHex(one)]));
  for (const name of ["value", "result"])
    if (next.type === "int" && /^\d+$/.test(next[name] ?? "")) next[name] = `0x${Number(next[name]).toString(16)}`;
  return next;
}

class Refusal extends Error {
  constructor(code, message) {
    super(message);
    this.body = { code, message, hint: "" };
  }
}

export { Refusal };

/** The body of what only acts. */
const done = (_) => ({});

export class MadeUpDebugger {
  /** `onRows`: told of sessions that changed. `pace`: how long a worker runs between two stops, in ms. */
  constructor(rows, onRows, { pace = 40, wait = 60 } = {}) {
    this.rows = rows;
    this.onRows = onRows;
    this.pace = pace;
    this.wait = wait;
    this.sessions = new Map();
    this.consoles = new Map();
    this.handles = new Map();
    this.handle = 1_000_000;
    this.evaluation = 0;
    this.asked = [];
    /** Calls of a function by itself, in each stack. */
    this.deep = 0;
  }

  member(worker) {
    for (const site of this.rows.paused)
      for (const member of site.members) if (member.worker_id === worker) return { site, member };
    throw new Refusal("unknown", `no worker ${worker}`);
  }

  session(worker) {
    const session = this.sessions.get(worker);
    if (!session) throw new Refusal("bad_query", "Not attached to this worker.");
    return session;
  }

  put(worker, change) {
    const next = { ...this.sessions.get(worker), ...change };
    this.sessions.set(worker, next);
    this.onRows([next]);
    return next;
  }

  say(worker, ...entries) {
    const list = this.consoles.get(worker) ?? [];
    for (const entry of entries) list.push({ number: list.length, at_ns: Date.now() * 1e6, ...entry });
    this.consoles.set(worker, list);
    this.put(worker, { console_end: list.length });
  }

  attach(worker) {
    const { site, member } = this.member(worker);
    const at = { file: site.file, line: site.line, function: site.function };
    this.sessions.set(worker, {
      worker_id: worker,
      worker_type: member.worker_type,
      job_id: member.job_id,
      actor_id: member.actor_id,
      node_id: member.node_id,
      pid: member.pid,
      group: member.group,
      rank: member.rank,
      state: "stopped",
      note: null,
      held_by: null,
      keeper: true,
      python: "3.11.9",
      debugpy: "1.8.22",
      attached_ns: Date.now() * 1e6,
      attached_by: "me",
      post_mortem: site.kind === "exception",
      tracing: false,
      lost_ns: null,
      threads: [
        { ...THREAD, stop: 1, since_ns: Date.now() * 1e6, unwound: site.kind === "exception", ...at },
        {
          ...THREAD,
          threadId: 2,
          name: "DataLoader",
          state: "running",
          reason: null,
          stop: 0,
          file: null,
          line: null,
          function: null,
          since_ns: null,
        },
      ],
      breakpoints: [],
      functions: [],
      filters: ["uncaught"],
      types: [],
      available_filters: [
        { filter: "raised", label: "Raised Exceptions" },
        { filter: "uncaught", label: "Uncaught Exceptions" },
        { filter: "userUnhandled", label: "User Uncaught Exceptions" },
      ],
      evaluations: [],
      console_end: 0,
      messages_end: 2,
      capabilities: [],
    });
    this.say(worker, { kind: "note", text: "Attached." });
  }

  frames(worker) {
    const { site } = this.member(worker);
    const thread = this.session(worker).threads[0];
    const post = site.kind === "exception";
    const inner = {
      name: post ? "compute_score" : "DataParallelPPOActor.update_policy",
      path: thread.file,
      line: thread.line,
    };
    const again = { name: "down", path: thread.file, line: thread.line + 1 };
    return [
      { ...inner, rebuilt: post },
      ...Array.from({ length: this.deep }, () => again),
      { name: "ActorRolloutRefWorker.update_actor", path: "/opt/verl/workers/fsdp_workers.py", line: 864 },
      { name: "func", path: "/opt/verl/single_controller/ray/worker_group.py", line: 471 },
      { name: "resume_span", path: "/opt/ray/util/tracing/tracing_helper.py", line: 461, subtle: true },
      { name: "actor_method_executor", path: "/opt/ray/_private/function_manager.py", line: 689, subtle: true },
      { name: "main_loop", path: "/opt/ray/_private/worker.py", line: 917, subtle: true },
      { name: "<module>", path: "/opt/ray/_private/workers/default_worker.py", line: 321, subtle: true },
    ].map((frame, i) => ({
      id: thread.stop * (this.deep ? 10_000 : 100) + i,
      column: 0,
      subtle: false,
      rebuilt: false,
      ...frame,
    }));
  }

  /** A handle for children, given as a function of their range. */
  hold(total, make) {
    const reference = ++this.handle;
    this.handles.set(reference, { total, make });
    return reference;
  }

  list(variables) {
    return this.hold(variables.length, (i) => variables[i]);
  }

  locals(worker, frame) {
    const line = this.session(worker).threads[0].line;
    if (frame !== 0)
      return [
        value("self", "<verl.workers.fsdp_workers.ActorRolloutRefWorker object at 0x7f3c>", "ActorRolloutRefWorker", {
          variablesReference: this.list([value("rank", "3", "int"), value("world_size", "8", "int")]),
        }),
      ];
    const rows = this.hold(10_000, (i) => value(String(i), `'sample ${i}'`, "str", { evaluateName: `samples[${i}]` }));
    return [
      value("batch_idx", String(3 + Math.max(0, line - 212)), "int"),
      value("epoch", "0", "int"),
      value("local_norm", "tensor(1.2840, device='cuda:3')", "torch.Tensor", {
        summary: tensor([], "torch.float32"),
        variablesReference: this.list([value("requires_grad", "False", "bool"), value("grad", "None", "NoneType")]),
      }),
      value("loss", "tensor(0.00468)", "torch.Tensor", { summary: tensor([]) }),
      value("log_prob", "tensor([[-0.1, -2.1, …]])", "torch.Tensor", {
        summary: tensor([4, 1024]),
        variablesReference: this.list([value("shape", "(4, 1024)", "torch.Size")]),
      }),
      value("metrics", "{'actor/pg_loss': [0.0187], …}", "dict", {
        summary: { kind: "dict", length: 4 },
        variablesReference: this.list([
          value("'actor/pg_loss'", "[0.0187]", "list", { evaluateName: "metrics['actor/pg_loss']" }),
        ]),
      }),
      value("prompt", "'<script>alert(1)</script>'", "str", { summary: { kind: "str", length: 26 } }),
      value("samples", "['sample 0', …]", "list", {
        summary: { kind: "list", length: 10_000 },
        indexedVariables: 10_000,
        variablesReference: rows,
      }),
      value("temperature", "1.0", "float"),
      value("self", "<verl.workers.actor.DataParallelPPOActor object at 0x7f3c>", "DataParallelPPOActor", {
        variablesReference: this.list([
          value("rank", "3", "int", { evaluateName: "self.rank" }),
          value("config", "ActorConfig(ppo_epochs=1, clip_ratio=0.2)", "ActorConfig", {
            evaluateName: "self.config",
            variablesReference: this.list([
              value("clip_ratio", "0.2", "float", { evaluateName: "self.config.clip_ratio" }),
            ]),
          }),
        ]),
      }),
    ];
  }

  variables({ variablesReference, start = 0, count = 100 }) {
    const held = this.handles.get(variablesReference);
    if (!held) throw new Refusal("gone", "This value is of an earlier stop.");
    const variables = Array.from({ length: Math.max(0, Math.min(count, held.total - start)) }, (_, i) =>
      held.make(start + i),
    );
    return { variables, total: held.total, start };
  }

  move(worker, line) {
    const session = this.session(worker);
    this.handles.clear();
    const [thread, ...others] = session.threads;
    this.put(worker, { state: "running", threads: [{ ...thread, state: "running", reason: null }, ...others] });
    if (line === null) return;
    setTimeout(() => {
      const stopped = {
        ...thread,
        state: "stopped",
        reason: "step",
        stop: thread.stop + 1,
        line,
        since_ns: Date.now() * 1e6,
      };
      if (this.sessions.has(worker)) this.put(worker, { state: "stopped", threads: [stopped, ...others] });
    }, this.pace);
  }

  /** The answer's body; throws Refusal. */
  async call(worker, command, args) {
    this.asked.push({ worker, command, args });
    const body = await this.answer(worker, command, args);
    return args.format?.hex ? inHex(body) : body;
  }

  async answer(worker, command, args) {
    await new Promise((resolve) => setTimeout(resolve, command === "attach" ? this.wait : 1));
    if (command === "attach") return done(this.attach(worker));
    if (command === "source") return sourceText(args.path, args.path.endsWith("dp_actor.py") ? 212 : 88);
    const session = this.session(worker);
    const thread = session.threads[0];
    switch (command) {
      case "detach":
        this.put(worker, { state: "ended", note: "detached by me" });
        return {};
      case "look": {
        const frames = this.frames(worker);
        const frame = args.frameId === undefined ? frames[0] : frames.find((one) => one.id === args.frameId);
        if (!frame || thread.state !== "stopped") throw new Refusal("gone", "The thread runs.");
        const locals = this.list(this.locals(worker, frames.indexOf(frame)));
        const globals = this.list([
          value("__name__", "'verl.workers.actor.dp_actor'", "str"),
          value("torch", "<module 'torch'>", "module"),
        ]);
        const { site } = this.member(worker);
        return {
          stop: thread.stop,
          frames: frames.slice(0, 100),
          total_frames: frames.length,
          frame_id: frame.id,
          scopes: [
            { name: "Locals", variablesReference: locals, expensive: false, presentationHint: "locals" },
            { name: "Globals", variablesReference: globals, expensive: false, presentationHint: null },
          ],
          variables: this.variables({ variablesReference: locals }),
          exception: session.post_mortem
            ? {
                type: site.exception,
                message: site.message,
                break_mode: "unhandled",
                traceback: "Traceback (most recent call last):\n  …",
                cause: null,
              }
            : null,
        };
      }
      case "stackTrace": {
        const frames = this.frames(worker);
        const { startFrame = 0, levels = 100 } = args;
        return { stackFrames: frames.slice(startFrame, startFrame + levels), totalFrames: frames.length };
      }
      case "variables":
        return this.variables(args);
      case "evaluate":
        return this.evaluate(worker, args);
      case "setVariable":
        return { result: args.value, type: "int" };
      case "completions": {
        const word = /[\w]*$/.exec(args.text.slice(0, args.column - 1))[0];
        const names = ["local_norm", "log_prob", "loss", "logger", "metrics", "mini_batch", "self"];
        return {
          targets: names
            .filter((one) => one.startsWith(word))
            .map((label) => ({ label, type: "variable", start: args.column - 1 - word.length, length: word.length })),
        };
      }
      case "continue":
        return done(this.move(worker, null));
      case "next":
      case "stepIn":
      case "stepOut":
        return done(this.move(worker, thread.line + 1));
      case "pause":
        return done(this.move(worker, thread.line));
      case "runTo":
      case "goto":
        return done(this.move(worker, args.line));
      case "stepInTargets":
        return {
          targets: [
            { id: 1, label: "local_grad_norm" },
            { id: 2, label: "_optimizer_step" },
          ],
        };
      case "setBreakpoints": {
        const made = args.breakpoints.map((one) => ({
          condition: null,
          hitCondition: null,
          logMessage: null,
          hits: 0,
          enabled: true,
          ...one,
          path: args.path,
          verified: one.line !== 210,
          message: one.line === 210 ? "No code on this line." : null,
        }));
        this.put(worker, {
          breakpoints: [...session.breakpoints.filter((one) => one.path !== args.path), ...made],
          tracing: made.length > 0,
        });
        return { breakpoints: made };
      }
      case "setFunctionBreakpoints":
        return done(this.put(worker, { functions: args.names }));
      case "setExceptionBreakpoints":
        return done(this.put(worker, { filters: args.filters, types: args.types ?? [] }));
      case "modules": {
        const all = ["dp_actor", "core_algos", "fsdp_workers", "ray_trainer", "reward_fn"].map((name) => ({
          name: `verl.${name}`,
          path: `/opt/verl/workers/actor/${name}.py`,
        }));
        const modules = all.filter((one) => one.name.includes(args.text ?? ""));
        return { modules: modules.slice(0, args.limit ?? 100), total: modules.length };
      }
      case "console": {
        const entries = this.consoles.get(worker) ?? [];
        return { entries: entries.slice(args.since), end: entries.length, dropped: 0 };
      }
      case "messages":
        return {
          messages: [
            {
              number: 0,
              at_ns: Date.now() * 1e6,
              sent: true,
              kind: "request",
              command: "initialize",
              text: '{"seq": 1}',
              took_ms: null,
              success: true,
            },
            {
              number: 1,
              at_ns: Date.now() * 1e6,
              sent: false,
              kind: "response",
              command: "initialize",
              text: '{"seq": 2}',
              took_ms: 3.2,
              success: true,
            },
          ].slice(args.since),
          end: 2,
          dropped: 0,
        };
      default:
        throw new Refusal("bad_query", `${command} isn't a command`);
    }
  }

  async evaluate(worker, { expression, context, format }) {
    const evaluation = ++this.evaluation;
    const repl = context === "repl";
    const found = this.locals(worker, 0).find((one) => one.name === expression);
    if (repl) this.say(worker, { kind: "input", text: expression, who: "me", evaluation });
    if (expression === "hang()") {
      const { evaluations } = this.session(worker);
      this.put(worker, {
        evaluations: [
          ...evaluations,
          { evaluation, expression, who: "me", since_ns: Date.now() * 1e6 - 12e9, threadId: 1 },
        ],
      });
      return { result: "", waiting: true, evaluation };
    }
    if (expression === "print(1)") this.say(worker, { kind: "stdout", text: "1\n" });
    if (/^1 *\/ *0$/.test(expression) || (!found && context !== "repl")) {
      if (repl) this.say(worker, { kind: "error", text: "ZeroDivisionError: division by zero", evaluation });
      throw new Refusal("evaluate", `NameError: name '${expression}' is not defined`);
    }
    const plain = found
      ? { result: found.value, type: found.type, variablesReference: found.variablesReference, summary: found.summary }
      : {
          result: /^\d+$/.test(expression) ? expression : "[1, 2, 3]",
          type: /^\d+$/.test(expression) ? "int" : "list",
          variablesReference: 0,
        };
    const result = format?.hex ? inHex(plain) : plain;
    if (repl) this.say(worker, { kind: "result", text: result.result, evaluation, took_ms: 2.4, ...result });
    return { ...result, evaluation };
  }
}
