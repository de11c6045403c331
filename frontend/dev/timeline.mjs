// A made-up timeline for developing the page: the same story at each start, growing by itself as time goes by (what lies
// ahead is made too, and shown when it is due). Answers query_timeline and query_tasks as the hub does.
import { SCENES } from "./rows.mjs";

const S = 1e9;
const STATES = ["pending", "running", "finished", "failed", "paused"];
const AHEAD = 3600;

function randoms(seed) {
  let x = seed >>> 0;
  return () => {
    x = (Math.imul(x ^ (x >>> 15), 2246822519) + 0x9e3779b9) >>> 0;
    return ((x ^ (x >>> 13)) >>> 0) / 2 ** 32;
  };
}

const hexOf = (n, length) => n.toString(16).padStart(length, "0").slice(-length);

/** Times in seconds, 0 is the server's start. `end` null: never. */
class Story {
  lanes = [];
  steps = [];
  pauses = [];
  tasks = [];
  own = new Map();
  below = new Map();
  longest = new Map();

  constructor(job) {
    this.job = job;
  }

  lane(lane_id, kind, label, parent_lane_id, over = {}) {
    this.lanes.push({
      lane_id,
      job_id: this.job,
      kind,
      label,
      parent_lane_id,
      order: this.lanes.length,
      tasks: 0,
      failed: 0,
      group_id: null,
      role: null,
      rank: null,
      actor_id: null,
      worker_id: null,
      node_id: null,
      ...over,
    });
    this.own.set(lane_id, []);
    return lane_id;
  }

  task(lane, name, submit, start, end, over = {}) {
    const task = {
      n: this.tasks.length,
      lane,
      name,
      submit,
      start,
      end,
      parent: null,
      attempt: 0,
      failed: null,
      ...over,
    };
    this.tasks.push(task);
    this.own.get(lane).push(task);
    return task;
  }

  seal() {
    const byId = new Map(this.lanes.map((l) => [l.lane_id, l]));
    for (const lane of this.lanes) this.below.set(lane.lane_id, []);
    for (const [id, own] of this.own) {
      own.sort((a, b) => a.start - b.start);
      const failed = own.filter((t) => t.failed && t.end < 0).length;
      for (let at = id; at; at = byId.get(at)?.parent_lane_id) {
        this.below.get(at).push(...own);
        byId.get(at).tasks += own.length;
        byId.get(at).failed += failed;
      }
    }
    for (const list of this.below.values()) list.sort((a, b) => a.start - b.start);
    // The longest of them, so that those that began before a window are found by looking back that far.
    for (const [id, list] of this.below)
      this.longest.set(
        id,
        list.reduce((most, t) => Math.max(most, t.end === null ? Infinity : t.end - t.start), 0),
      );
    return this;
  }
}

/** Lanes of the actors of a scene, as the hub makes them. */
function lanesOf(story, rows) {
  const job = story.job;
  const ofRank = new Map();
  story.lane(`driver:${job}`, "driver", "Driver", null);
  for (const a of rows.actors.filter((a) => !a.group_id && a.job_id === job))
    if (a.class_name === "TaskRunner" || a.task_name)
      ofRank.set(
        a.actor_id,
        story.lane(`actor:${a.actor_id}`, "actor", a.class_name, null, {
          actor_id: a.actor_id,
          worker_id: a.worker_id,
          node_id: a.node_id,
        }),
      );
  for (const g of rows.groups.filter((g) => g.job_id === job)) {
    const top = story.lane(`group:${g.group_id}`, "group", g.name, null, { group_id: g.group_id });
    const members = rows.actors.filter((a) => a.group_id === g.group_id);
    const roles = g.roles.length > 0 ? g.roles : [null];
    for (const role of roles) {
      const above = role
        ? story.lane(`role:${g.group_id}/${role}`, "role", role, top, { group_id: g.group_id, role })
        : top;
      for (const a of members) {
        const id = story.lane(
          role ? `rank:${a.actor_id}/${role}` : `rank:${a.actor_id}`,
          "rank",
          `rank ${a.rank}`,
          above,
          {
            group_id: g.group_id,
            role,
            rank: a.rank,
            actor_id: a.actor_id,
            worker_id: a.worker_id,
            node_id: a.node_id,
          },
        );
        ofRank.set(`${g.name}/${role ?? ""}/${a.rank}`, id);
      }
    }
  }
  return ofRank;
}

/** The mock's story: a step of 148 s; in the newest, eight ranks are held by a breakpoint since 134 s. */
function verl(rows) {
  const story = new Story("02000000");
  const rnd = randoms(11);
  const at = lanesOf(story, rows);
  const runner = at.get(rows.actors[0].actor_id);
  const run = story.task(`driver:${story.job}`, "main_ppo.py", null, -51720, null);
  const fit = story.task(runner, "run", -51701, -51700, null, { parent: run });
  const call = (group, role, ranks, name, from, to, parent, over = () => ({})) => {
    for (let r = 0; r < ranks; r++) {
      const start = from + 0.4 + rnd() * 0.6;
      const { lane = at.get(`${group}/${role}/${r}`), end = to - rnd() * (to - from) * 0.12, ...more } = over(r);
      story.task(lane, name, from, start, end, { parent, ...more });
    }
  };
  for (let k = 6; k >= 0; k--) {
    const s = -275 - 148 * k;
    story.steps.push({ number: 415 - k, start: s, end: k > 0 ? s + 148 : null });
    call("actor_rollout", "rollout", 64, "generate_sequences", s, s + 61, fit);
    for (let r = 0; r < 8; r++)
      for (let i = 0, t = s + 13 + rnd() * 9; i < 5 && t < s + 62; i++, t += 4 + rnd() * 12) {
        const broke = k === 0 && r === 6 && i === 2;
        const end = t + 3 + rnd() * 6;
        story.task(at.get(`reward//${r}`), "compute_score", t - 2.4, t, end, {
          parent: fit,
          failed: broke ? ["TASK_EXECUTION_EXCEPTION", "SandboxTimeout: no answer in 30 s"] : null,
        });
      }
    call("actor_rollout", "actor", 64, "compute_log_prob", s + 70, s + 82, fit);
    call("ref", "", 32, "compute_ref_log_prob", s + 82, s + 94, fit);
    call("critic", "", 32, "compute_values", s + 94, s + 105, fit);
    call("critic", "", 32, "update_critic", s + 105, s + 119, fit);
    call("actor_rollout", "actor", 64, "update_actor", s + 119, s + 147, fit, (r) =>
      k > 0 ? {} : r < 8 ? { end: null, held: -134 } : { end: null },
    );
    if (k === 0) call("critic", "", 32, "save_checkpoint", -124, 0, fit, () => ({ end: null }));
  }
  for (let r = 0; r < 8; r++) {
    const a = rows.actors.find((x) => x.group_id === "ga" && x.rank === r);
    story.pauses.push({
      lanes: [at.get(`actor_rollout/actor/${r}`)],
      worker: a.worker_id,
      site: "s1",
      file: "/opt/verl/workers/actor/dp_actor.py",
      line: 212,
      start: -134 - r * 0.05,
    });
  }
  return story.seal();
}

/** Two ranks, a step of 6 s, which goes on. */
function demo(rows) {
  const story = new Story("01000000");
  const rnd = randoms(5);
  const at = lanesOf(story, rows);
  const run = story.task(at.get(rows.actors[0].actor_id), "run", -181, -180, null);
  for (let n = 0, s = -175; s < AHEAD; n++, s += 6) {
    story.steps.push({ number: n + 1, start: s, end: s + 6 });
    for (let r = 0; r < 2; r++) {
      const broke = n % 9 === 4 && r === 1;
      const error = ["TASK_EXECUTION_EXCEPTION", "ValueError: loss is NaN"];
      story.task(at.get(`actor_rollout/rollout/${r}`), "generate_sequences", s, s + 0.1, s + 2.1 + rnd() * 0.4, {
        parent: run,
      });
      story.task(at.get(`actor_rollout/actor/${r}`), "compute_log_prob", s + 2.4, s + 2.6, s + 3.3 + rnd() * 0.3, {
        parent: run,
      });
      story.task(at.get(`actor_rollout/actor/${r}`), "update_actor", s + 3.7, s + 3.9, s + 5.4 + rnd() * 0.5, {
        parent: run,
        failed: broke ? error : null,
      });
    }
  }
  const node = story.lane("node:01000000/n", "node", "10.0.0.2", null, { node_id: rows.nodes[0].node_id });
  for (let w = 0; w < 12; w++) {
    const lane = story.lane(`worker:01000000/w${w}`, "worker", `worker ${3000 + w}`, node, { worker_id: `w${w}` });
    for (let s = -170 + rnd() * 9; s < AHEAD; s += 2 + rnd() * 9)
      story.task(lane, rnd() < 0.7 ? "tokenize" : "load_shard", s - rnd(), s, s + 0.3 + rnd() * 1.5, { parent: run });
  }
  return story.seal();
}

/** 100,000 tasks on 40 ranks in 20 minutes; goes on. Threaded actors with overlapping calls among them. */
function dense(rows) {
  const story = new Story("01000000");
  const rnd = randoms(3);
  lanesOf(story, rows);
  const group = story.lane("group:dense", "group", "env_workers", null, { group_id: "dense" });
  const names = ["step", "reset", "infer", "push_batch"];
  for (let r = 0; r < 40; r++) {
    const lane = story.lane(`rank:d${r}`, "rank", `rank ${r}`, group, { rank: r, group_id: "dense" });
    let t = -1200 + rnd();
    while (t < 600) {
      const long = 0.05 + rnd() * 0.8;
      const failed = rnd() < 0.0004 ? ["WORKER_DIED", "exit code 137"] : null;
      story.task(lane, names[Math.floor(rnd() * rnd() * 4)], t - 0.05, t, t + long, { failed });
      t += r % 10 === 3 ? long * 0.35 : long + rnd() * 0.06;
    }
  }
  return story.seal();
}

const MADE = { verl, demo, dense };
export const DENSE_ROWS = () => ({ ...SCENES.demo(), paused: [] });

/** What the hub would hold of a scene at any time. */
export function timelineOf(scene, rows, startNs) {
  const story = (MADE[scene] ?? ((r) => lanesOnly(r)))(rows);
  const ns = (s) => (s === null ? null : Math.round(startNs + s * S));
  const since = () => (Date.now() * 1e6 - startNs) / S;
  const version = () => Math.floor((since() + 100) * 4);
  const idOf = (t) => hexOf(t.n + 1, 40) + story.job;

  function stateOf(t, now) {
    if (t.start > now) return 0;
    if (t.end === null || t.end > now) return t.held !== undefined && t.held <= now ? 4 : 1;
    return t.failed ? 3 : 2;
  }

  // Sorted once: what is true at a time is then found by halving.
  const sorted = (pick) =>
    story.tasks
      .map(pick)
      .filter((t) => t !== null && t !== undefined)
      .sort((x, y) => x - y);
  const times = {
    known: sorted((t) => t.submit ?? t.start),
    started: sorted((t) => t.start),
    ended: sorted((t) => t.end),
    failed: sorted((t) => (t.failed ? t.end : null)),
  };
  const before = (list, now) => {
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] <= now) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  function jobRow() {
    const now = since();
    const total = before(times.known, now);
    const started = before(times.started, now);
    return {
      job_id: story.job,
      version: version(),
      total,
      running: started - before(times.ended, now),
      pending: total - started,
      failed: before(times.failed, now),
      first_ns: total > 0 ? ns(times.known[0]) : null,
      last_ns: ns(now),
      source: scene === "verl" ? "pull" : "push",
      fresh_ns: Date.now() * 1e6 - (scene === "verl" ? 1.4e9 : 0.2e9),
      period_ns: scene === "verl" ? 2e9 : null,
      dropped: scene === "verl" ? { ray: 1204, agent: null, hub: 0 } : { ray: 0, agent: 0, hub: 0 },
      truncated: 0,
      note: null,
      steps: story.steps.length > 0 ? (scene === "verl" ? "inferred" : "declared") : null,
      clipped_lanes: 0,
    };
  }

  function tables() {
    const now = since();
    return {
      timeline_jobs: [jobRow()],
      lanes: story.lanes,
      steps: story.steps
        .filter((s) => s.start <= now)
        .map((s) => ({
          step_id: `${story.job}/x/${s.number}`,
          job_id: story.job,
          number: s.number,
          start_ns: ns(s.start),
          end_ns: s.end !== null && s.end <= now ? ns(s.end) : null,
          inferred: scene === "verl",
        })),
      pauses: story.pauses.map((p, i) => ({
        pause_id: `p${i}`,
        job_id: story.job,
        worker_id: p.worker,
        lane_ids: p.lanes,
        site_id: p.site,
        file: p.file,
        line: p.line,
        start_ns: ns(p.start),
        end_ns: null,
        exact: true,
        candidates: [],
      })),
    };
  }

  const beforeStart = (list, at) => {
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle].start < at) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  function touching(lane_id, from, to) {
    const all = story.below.get(lane_id) ?? [];
    const first = beforeStart(all, from - (story.longest.get(lane_id) ?? 0));
    const last = beforeStart(all, to + 10);
    return all.slice(first, last).filter((t) => (t.submit ?? t.start) <= to && (t.end ?? Infinity) >= from);
  }

  function marks(q) {
    const now = since();
    const from = (q.from_ns - startNs) / S;
    const to = (q.to_ns - startNs) / S;
    const names = new Map();
    const nameOf = (n) => names.get(n) ?? names.set(n, names.size).get(n);
    const lanes = [];
    const slices = [];
    const bins = [];
    for (const lane_id of q.lanes) {
      const list = touching(lane_id, from, Math.min(to, now));
      if (list.length <= Math.max(40, q.pixels / 8)) {
        const begin = slices.length;
        const ends = [];
        for (const t of list) {
          const state = stateOf(t, now);
          const first = t.start;
          let depth = ends.findIndex((end) => end <= first);
          if (depth < 0) depth = ends.length;
          ends[depth] = t.end === null ? Infinity : t.end;
          slices.push([t, state, depth]);
        }
        lanes.push({
          lane_id,
          mode: "slices",
          begin,
          end: slices.length,
          tasks: list.length,
          depth: Math.max(1, ends.length),
        });
      } else {
        const begin = bins.length;
        bins.push(...binsOf(list, from, to, q.pixels, now, nameOf));
        lanes.push({ lane_id, mode: "bins", begin, end: bins.length, tasks: list.length, depth: 1 });
      }
    }
    const base = Math.round(q.from_ns);
    const time = (s) => (s === null || s > now ? Number.NaN : startNs - base + s * S);
    const bytes = (array) => new Uint8Array(array.buffer);
    const column = (type, list, pick) => bytes(type.from(list, pick));
    const ids = new Uint8Array(24 * slices.length);
    for (const [i, [t]] of slices.entries()) ids.set(Buffer.from(idOf(t), "hex"), 24 * i);
    const answer = {
      job_id: story.job,
      version: version(),
      base_ns: base,
      from_ns: q.from_ns,
      to_ns: q.to_ns,
      pixels: q.pixels,
      lanes,
      slices: {
        submit: column(Float64Array, slices, ([t]) => time(t.submit)),
        start: column(Float64Array, slices, ([t]) => time(t.start)),
        end: column(Float64Array, slices, ([t]) => time(t.end)),
        name: column(Uint32Array, slices, ([t]) => nameOf(t.name)),
        state: column(Uint8Array, slices, ([, state]) => state),
        depth: column(Uint16Array, slices, ([, , depth]) => depth),
        attempt: column(Uint16Array, slices, ([t]) => t.attempt),
        task_id: ids,
      },
      bins: {
        index: column(Uint32Array, bins, (b) => b.index),
        count: column(Uint32Array, bins, (b) => b.count),
        name: column(Uint32Array, bins, (b) => b.name),
        busy: column(Uint8Array, bins, (b) => b.busy),
        states: column(Uint8Array, bins, (b) => b.states),
      },
    };
    return { ...answer, names: [...names.keys()] };
  }

  function binsOf(list, from, to, pixels, now, nameOf) {
    const out = new Map();
    const width = (to - from) / pixels;
    const lanes = new Set(list.map((t) => t.lane)).size;
    for (const t of list) {
      const state = stateOf(t, now);
      const begin = state === 0 ? t.submit : t.start;
      const end = Math.min(t.end ?? now, now);
      const first = Math.max(0, Math.floor((begin - from) / width));
      const last = Math.min(pixels - 1, Math.floor((end - from) / width));
      for (let index = first; index <= last; index++) {
        const share = Math.min(end, from + (index + 1) * width) - Math.max(begin, from + index * width);
        const bin = out.get(index) ?? { index, count: 0, states: 0, sum: 0, best: 0, name: 0 };
        bin.count++;
        bin.states |= 1 << state;
        if (state > 0) bin.sum += Math.max(0, share) / width / lanes;
        if (share >= bin.best) Object.assign(bin, { best: share, name: nameOf(t.name) });
        bin.busy = Math.min(255, Math.max(state > 0 ? 1 : 0, Math.round(255 * bin.sum)));
        out.set(index, bin);
      }
    }
    return [...out.values()].sort((a, b) => a.index - b.index);
  }

  function tasks(q) {
    const now = since();
    const lane = new Map(story.lanes.map((l) => [l.lane_id, l]));
    const kids = new Map();
    for (const t of story.tasks) if (t.parent) kids.set(t.parent, (kids.get(t.parent) ?? 0) + 1);
    const text = q.text?.toLowerCase();
    const hits = story.tasks.filter(
      (t) =>
        (t.submit ?? t.start) <= now &&
        (!q.task_id || idOf(t) === q.task_id) &&
        (!q.parent_task_id || (t.parent && idOf(t.parent) === q.parent_task_id)) &&
        (!q.states || q.states.includes(STATES[stateOf(t, now)])) &&
        (q.after_ns == null || ns(t.submit ?? t.start) > q.after_ns) &&
        (q.before_ns == null || ns(t.submit ?? t.start) < q.before_ns) &&
        (!text || `${t.name} ${idOf(t)} ${t.failed?.[0] ?? ""} ${lane.get(t.lane).label}`.toLowerCase().includes(text)),
    );
    hits.sort((a, b) => (a.submit ?? a.start) - (b.submit ?? b.start));
    if (!q.oldest_first) hits.reverse();
    const job = jobRow();
    return {
      time_ns: Date.now() * 1e6,
      total: hits.length,
      dropped: job.dropped,
      truncated: 0,
      source: job.source,
      age_ns: 1e9,
      note: null,
      tasks: hits.slice(0, q.limit ?? 100).map((t) => {
        const l = lane.get(t.lane);
        const state = stateOf(t, now);
        return {
          task_id: idOf(t),
          attempt: t.attempt,
          name: t.name,
          type: l.kind === "driver" ? "DRIVER_TASK" : l.actor_id ? "ACTOR_TASK" : "NORMAL_TASK",
          job_id: story.job,
          actor_id: l.actor_id,
          worker_id: l.worker_id,
          node_id: l.node_id,
          rank: l.rank,
          parent_task_id: t.parent ? idOf(t.parent) : null,
          state: ["PENDING_NODE_ASSIGNMENT", "RUNNING", "FINISHED", "FAILED", "RUNNING"][state],
          submit_ns: ns(t.submit),
          start_ns: state > 0 ? ns(t.start) : null,
          end_ns: state === 2 || state === 3 ? ns(t.end) : null,
          error_type: state === 3 ? t.failed[0] : null,
          error_message: state === 3 ? t.failed[1] : null,
          role: l.role,
          group_id: l.group_id,
          pid: 4711,
          lane_id: l.lane_id,
          children: kids.get(t) ?? 0,
        };
      }),
    };
  }

  return { tables, jobRow, marks, tasks, steps: () => tables().steps };
}

function lanesOnly(rows) {
  const story = new Story(rows.jobs[0]?.job_id ?? "");
  if (rows.jobs.length > 0) lanesOf(story, rows);
  return story.seal();
}
