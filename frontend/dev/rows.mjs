// Made-up rows for developing the page without a cluster.
const S = 1_000_000_000;
const now = () => Date.now() * 1e6;
const ago = (seconds) => Math.round(now() - seconds * S);
const hex = (seed, length) => {
  let out = "";
  let x = (seed * 2654435761 + 97) >>> 0;
  while (out.length < length) {
    x = (Math.imul(x ^ (x >>> 15), 2246822519) + 0x9e3779b9) >>> 0;
    out += x.toString(16).padStart(8, "0");
  }
  return out.slice(0, length);
};

export const empty = () => ({ nodes: [], jobs: [], groups: [], actors: [], sources: sources(), paused: [] });

function sources(over = {}) {
  return ["gcs", "paused", "node stats"].map((name) => ({
    name,
    ok: true,
    fresh_ns: ago(0.4),
    period_ns: 1e9,
    note: null,
    ...over[name],
  }));
}

function node(i, ip, over = {}) {
  return {
    node_id: hex(i + 1, 56),
    ip,
    hostname: `host-${i}`,
    alive: true,
    is_head: i === 0,
    helper: "up",
    helper_note: null,
    start_ns: ago(90000),
    end_ns: null,
    death_cause: null,
    cpus: 96,
    gpus: 8,
    ...over,
  };
}

function actor(id, job, over) {
  return {
    actor_id: hex(id + 1000, 32),
    job_id: job,
    group_id: null,
    parent_actor_id: null,
    name: null,
    class_name: "Actor",
    rank: null,
    role: null,
    worker_id: hex(id + 50000, 56),
    pid: 20000 + id,
    node_id: null,
    state: "idle",
    task_name: null,
    since_ns: ago(171),
    restarts: 0,
    death_cause: null,
    death_kind: null,
    armed: null,
    detached: false,
    namespace: "",
    parent_task: false,
    methods_running: null,
    start_ns: ago(51720),
    end_ns: null,
    ...over,
  };
}

function driver(n, over) {
  return {
    worker_id: hex(7, 56),
    pid: 48211,
    node_id: n.node_id,
    ip: n.ip,
    state: "waiting",
    task_name: null,
    since_ns: ago(156),
    ...over,
  };
}

function thread(a, group, over) {
  return {
    worker_id: a.worker_id,
    thread_id: a.pid,
    thread_name: "MainThread",
    worker_type: "worker",
    actor_id: a.actor_id,
    task_id: null,
    candidate_task_ids: [],
    task_name: a.task_name,
    job_id: a.job_id,
    group,
    group_id: a.group_id,
    rank: a.rank,
    node_id: a.node_id,
    pid: a.pid,
    since_ns: a.since_ns,
    attached: false,
    ...over,
  };
}

const group = (id, job, name, parent, size, roles) => ({
  group_id: id,
  job_id: job,
  name,
  kind: "verl",
  parent_actor_id: parent,
  world_size: size,
  roles,
  clipped: 0,
});

/** `raydebug demo` on one machine: two ranks, one place. */
export function demo() {
  const job = "01000000";
  const n = node(0, "10.0.0.2", { gpus: null, cpus: 4 });
  const runner = actor(0, job, {
    class_name: "TaskRunner",
    state: "waiting",
    task_name: "run",
    node_id: n.node_id,
    since_ns: ago(64),
  });
  const ranks = [0, 1].map((i) =>
    actor(1 + i, job, {
      group_id: "g1",
      parent_actor_id: runner.actor_id,
      class_name: "TrainWorker",
      name: `demo_worker_${i}`,
      rank: i,
      role: "actor",
      node_id: n.node_id,
      state: "paused",
      task_name: "update_actor",
      since_ns: ago(12 + i),
    }),
  );
  return {
    nodes: [n],
    jobs: [
      {
        job_id: job,
        entrypoint: "raydebug demo",
        state: "running",
        start_ns: ago(80),
        end_ns: null,
        driver: driver(n),
        submission_id: null,
        clipped_actors: 0,
      },
    ],
    groups: [group("g1", job, "actor_rollout", runner.actor_id, 2, ["actor", "rollout"])],
    actors: [runner, ...ranks],
    sources: sources(),
    paused: [
      {
        site_id: "s1",
        kind: "breakpoint",
        file: "/srv/demo/train/runner.py",
        line: 88,
        function: "update_actor",
        exception: null,
        message: null,
        since_ns: ago(13),
        members: ranks.map((r) => thread(r, "actor_rollout")),
        note: null,
      },
    ],
  };
}

/** The mock's story: 136 ranks, a breakpoint, a failed one, a node lost. */
export function verl() {
  const job = "02000000";
  const nodes = Array.from({ length: 18 }, (_, i) => node(i, `10.42.3.${10 + i}`));
  Object.assign(nodes[17], {
    alive: false,
    end_ns: ago(48),
    death_cause: "raylet missed 5 heartbeats",
    helper: "missing",
  });
  Object.assign(nodes[6], {
    helper: "missing",
    helper_note: "helper missing: py-spy isn't installed on this node; pip install raydebug there",
  });
  const runner = actor(0, job, {
    class_name: "TaskRunner",
    state: "waiting",
    task_name: "run",
    node_id: nodes[0].node_id,
    since_ns: ago(156),
  });
  const actors = [runner];
  const make = (id, name, size, first, roles, each) => {
    for (let r = 0; r < size; r++) {
      actors.push(
        actor(actors.length, job, {
          group_id: id,
          parent_actor_id: runner.actor_id,
          class_name: "WorkerDict",
          name: `${name}WorkerDict_${Math.floor(r / 8)}:${r % 8}`,
          rank: r,
          role: roles[0],
          node_id: nodes[first + Math.floor(r / 8)].node_id,
          ...each(r),
        }),
      );
    }
    return group(id, job, name, runner.actor_id, size, roles.length > 1 ? roles : []);
  };
  const groups = [
    make("ga", "actor_rollout", 64, 1, ["actor", "rollout"], (r) =>
      r < 8
        ? { state: "paused", task_name: "update_actor", since_ns: ago(134) }
        : { state: "waiting", task_name: "update_actor", since_ns: ago(156) },
    ),
    make("gc", "critic", 32, 9, ["critic"], () => ({
      state: "running",
      task_name: "save_checkpoint",
      since_ns: ago(124),
    })),
    make("gr", "ref", 32, 14, ["ref"], (r) =>
      r >= 24
        ? {
            state: "dead",
            death_kind: "NODE_DIED",
            death_cause: `The actor died because its node has died. Node Id: ${nodes[17].node_id}`,
            since_ns: ago(48),
          }
        : {},
    ),
    make("gw", "reward", 8, 0, ["reward"], (r) =>
      r === 6
        ? {
            state: "failed",
            since_ns: ago(218),
            death_kind: "WORKER_DIED",
            death_cause:
              "ActorDiedError: the worker died unexpectedly (exit code 137).\nIt may have been killed for memory.",
            restarts: 2,
          }
        : r === 3
          ? { restarts: 1 }
          : {},
    ),
  ];
  for (const [i, c] of ["CheckpointEngine", "ReplayBuffer", "<img src=x onerror=alert(1)>", "MetricsSink"].entries()) {
    actors.push(
      actor(actors.length, job, {
        class_name: c,
        node_id: nodes[i].node_id,
        parent_actor_id: runner.actor_id,
        name: i === 1 ? "replay_buffer" : null,
        state: i === 1 ? "running" : "idle",
        task_name: i === 1 ? "push" : null,
      }),
    );
  }
  const held = actors.filter((a) => a.state === "paused");
  const failed = actors.find((a) => a.state === "failed");
  return {
    nodes,
    groups,
    actors,
    jobs: [
      {
        job_id: job,
        entrypoint:
          "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_files=/data/gsm8k/train.parquet",
        state: "running",
        start_ns: ago(51720),
        end_ns: null,
        driver: driver(nodes[0], { task_name: null }),
        submission_id: "raysubmit_x",
        clipped_actors: 230,
      },
      {
        job_id: "01000000",
        entrypoint: "python3 prepare_data.py",
        state: "finished",
        start_ns: ago(60000),
        end_ns: ago(59000),
        driver: driver(nodes[0], { state: "dead" }),
        submission_id: null,
        clipped_actors: 0,
      },
    ],
    sources: sources({
      "node stats": {
        ok: false,
        fresh_ns: ago(5),
        note: "helper missing on 10.42.3.16: py-spy isn't installed on this node; pip install raydebug there",
      },
    }),
    paused: [
      {
        site_id: "s1",
        kind: "breakpoint",
        file: "/opt/verl/workers/actor/dp_actor.py",
        line: 212,
        function: "update_policy",
        exception: null,
        message: null,
        since_ns: ago(134),
        members: held.map((a) => thread(a, "actor_rollout")),
        note: null,
      },
      {
        site_id: "s2",
        kind: "exception",
        file: "/opt/verl/reward_fn.py",
        line: 88,
        function: "compute_score",
        exception: "SandboxTimeout",
        message: "no answer from the sandbox in 30 s <script>alert(1)</script>",
        since_ns: ago(218),
        members: [thread({ ...failed, task_name: "compute_score" }, "reward")],
        note: null,
      },
      {
        site_id: "s3",
        kind: "breakpoint",
        file: null,
        line: null,
        function: null,
        exception: null,
        message: null,
        since_ns: ago(20),
        members: [thread({ ...actors.at(-3), task_name: "push" }, null, { thread_id: null })],
        note: "Place unknown until attached: no helper on 10.42.3.11",
      },
    ],
  };
}

/** 1,024 ranks in two groups on 64 nodes, and 600 single actors. */
export function large() {
  const job = "03000000";
  const nodes = Array.from({ length: 64 }, (_, i) => node(i, `10.8.${Math.floor(i / 32)}.${10 + (i % 32)}`));
  const runner = actor(0, job, {
    class_name: "TaskRunner",
    state: "waiting",
    task_name: "run",
    node_id: nodes[0].node_id,
  });
  const actors = [runner];
  const groups = ["actor_rollout", "critic"].map((name, g) => {
    for (let r = 0; r < 512; r++) {
      const state =
        g === 0 && r < 5 ? "paused" : g === 1 && r === 77 ? "failed" : (r * 7 + g) % 11 === 0 ? "waiting" : "running";
      actors.push(
        actor(actors.length, job, {
          group_id: `g${g}`,
          parent_actor_id: runner.actor_id,
          class_name: "WorkerDict",
          rank: r,
          role: name,
          node_id: nodes[Math.floor(r / 8)].node_id,
          state,
          task_name: g ? "update_critic" : "update_actor",
        }),
      );
    }
    return group(`g${g}`, job, name, runner.actor_id, 512, []);
  });
  for (let i = 0; i < 600; i++)
    actors.push(
      actor(actors.length, job, {
        class_name: "RolloutEnv",
        name: `env_${i}`,
        node_id: nodes[i % 64].node_id,
        parent_actor_id: runner.actor_id,
        state: i % 3 ? "idle" : "running",
        task_name: i % 3 ? null : "step",
      }),
    );
  const held = actors.filter((a) => a.state === "paused");
  return {
    nodes,
    groups,
    actors,
    sources: sources(),
    jobs: [
      {
        job_id: job,
        entrypoint: "python3 -m verl.trainer.main_ppo",
        state: "running",
        start_ns: ago(4000),
        end_ns: null,
        driver: driver(nodes[0]),
        submission_id: null,
        clipped_actors: 0,
      },
    ],
    paused: [
      {
        site_id: "s1",
        kind: "breakpoint",
        file: "/opt/verl/workers/actor.py",
        line: 31,
        function: "update_actor",
        exception: null,
        message: null,
        since_ns: ago(30),
        members: held.map((a) => thread(a, "actor_rollout")),
        note: null,
      },
    ],
  };
}

/** Two creators, a group made by a group's member, pending and unseen ranks, an ended job beside. */
export function nested() {
  const all = demo();
  const [n] = all.nodes;
  const job = "01000000";
  all.paused = [];
  const [runner, first, second] = all.actors;
  Object.assign(first, { state: "running" });
  Object.assign(second, { state: "running" });
  const other = actor(40, job, {
    class_name: "DataCoordinator",
    state: "running",
    task_name: "serve",
    node_id: n.node_id,
  });
  all.groups.push(
    group("g2", job, "loader", other.actor_id, 6, []),
    group("g3", job, "vllm_engine", first.actor_id, 2, []),
  );
  for (let r = 0; r < 4; r++)
    all.actors.push(
      actor(50 + r, job, {
        group_id: "g2",
        parent_actor_id: other.actor_id,
        class_name: "Loader",
        rank: r,
        node_id: r < 3 ? n.node_id : null,
        state: r < 2 ? "running" : r < 3 ? "idle" : "pending",
        task_name: r < 2 ? "next_batch" : null,
        since_ns: ago(3),
      }),
    );
  for (let r = 0; r < 2; r++)
    all.actors.push(
      actor(60 + r, job, {
        group_id: "g3",
        parent_actor_id: first.actor_id,
        class_name: "EngineCore",
        rank: r,
        node_id: n.node_id,
        state: "running",
        task_name: "step",
        since_ns: ago(1),
      }),
    );
  all.actors.push(other, actor(70, job, { class_name: "Tracker", node_id: n.node_id }));
  all.actors.push(
    actor(71, job, { class_name: "TaskRunnerHelper", node_id: n.node_id, parent_actor_id: runner.actor_id }),
  );
  return all;
}

export const SCENES = { demo, verl, large, nested, empty };
