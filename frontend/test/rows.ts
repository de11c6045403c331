// Rows for tests: the least that is valid, changed by what a test is about.
import type {
  Actor,
  Group,
  Job,
  Lane,
  Node,
  Patch,
  Pause,
  PausedSite,
  PausedThread,
  Tables,
  Task,
  TimelineJob,
  Topic,
} from "../src/api/types.gen";

export const NOW_NS = 1_700_000_000_000_000_000;

export const node = (id: string, over: Partial<Node> = {}): Node => ({
  node_id: id,
  ip: `10.0.0.${id.length}`,
  hostname: id,
  alive: true,
  is_head: false,
  helper: "up",
  helper_note: null,
  start_ns: null,
  end_ns: null,
  death_cause: null,
  cpus: null,
  gpus: null,
  ...over,
});

export const job = (id: string, over: Partial<Job> = {}): Job => ({
  job_id: id,
  entrypoint: "python train.py",
  state: "running",
  start_ns: NOW_NS,
  end_ns: null,
  driver: { worker_id: null, pid: 1, node_id: null, ip: "10.0.0.1", state: "waiting", task_name: null, since_ns: null },
  submission_id: null,
  clipped_actors: 0,
  ...over,
});

export const actor = (id: string, over: Partial<Actor> = {}): Actor => ({
  actor_id: id,
  job_id: "01",
  group_id: null,
  parent_actor_id: null,
  name: null,
  class_name: "Worker",
  rank: null,
  role: null,
  worker_id: `w-${id}`,
  pid: 100,
  node_id: "n1",
  state: "idle",
  task_name: null,
  since_ns: null,
  restarts: 0,
  death_cause: null,
  death_kind: null,
  armed: null,
  detached: false,
  namespace: "",
  parent_task: false,
  methods_running: null,
  start_ns: null,
  end_ns: null,
  ...over,
});

export const group = (id: string, over: Partial<Group> = {}): Group => ({
  group_id: id,
  job_id: "01",
  name: id,
  kind: "verl",
  parent_actor_id: null,
  world_size: null,
  roles: [],
  clipped: 0,
  ...over,
});

export const thread = (over: Partial<PausedThread> = {}): PausedThread => ({
  worker_id: "w-a",
  thread_id: 1,
  thread_name: null,
  worker_type: "worker",
  actor_id: "a",
  task_id: null,
  candidate_task_ids: [],
  task_name: null,
  job_id: "01",
  group: null,
  group_id: null,
  rank: null,
  node_id: "n1",
  pid: 100,
  since_ns: NOW_NS,
  attached: false,
  session_thread_id: null,
  reason: null,
  ...over,
});

export const site = (id: string, over: Partial<PausedSite> = {}): PausedSite => ({
  site_id: id,
  kind: "breakpoint",
  file: "/srv/runner.py",
  line: 88,
  function: "fit",
  exception: null,
  message: null,
  since_ns: NOW_NS,
  members: [thread()],
  note: null,
  ...over,
});

/** 48 hex digits, as Ray's. */
export const taskId = (number: number): string => number.toString(16).padStart(48, "0");

/** Ran for a second from `NOW_NS` on, after 0.1 s of waiting. */
export const task = (number: number, over: Partial<Task> = {}): Task => ({
  task_id: taskId(number),
  attempt: 0,
  name: "Rank.generate",
  type: "ACTOR_TASK",
  job_id: "01",
  actor_id: "a0",
  worker_id: "w-a0",
  node_id: "n1",
  rank: 0,
  parent_task_id: null,
  state: "FINISHED",
  submit_ns: NOW_NS - 1e8,
  start_ns: NOW_NS,
  end_ns: NOW_NS + 1e9,
  error_type: null,
  error_message: null,
  role: null,
  group_id: null,
  pid: 100,
  lane_id: "rank:a0",
  children: 0,
  ...over,
});

export const timelineJob = (over: Partial<TimelineJob> = {}): TimelineJob => ({
  job_id: "01",
  version: 1,
  total: 10,
  running: 0,
  pending: 0,
  failed: 0,
  first_ns: NOW_NS,
  last_ns: NOW_NS + 60e9,
  source: "pull",
  fresh_ns: NOW_NS,
  period_ns: 2e9,
  dropped: { ray: 0, agent: null, hub: 0 },
  truncated: 0,
  note: null,
  steps: null,
  clipped_lanes: 0,
  ...over,
});

export const lane = (id: string, over: Partial<Lane> = {}): Lane => ({
  lane_id: id,
  job_id: "01",
  kind: "rank",
  label: id,
  parent_lane_id: null,
  order: 0,
  tasks: 1,
  failed: 0,
  group_id: null,
  role: null,
  rank: null,
  actor_id: null,
  worker_id: null,
  node_id: null,
  ...over,
});

export const pause = (id: string, over: Partial<Pause> = {}): Pause => ({
  pause_id: id,
  job_id: "01",
  worker_id: "w-a0",
  lane_ids: ["rank:a0"],
  site_id: "s1",
  file: "/srv/job/actor_worker.py",
  line: 212,
  start_ns: NOW_NS + 5e8,
  end_ns: null,
  exact: true,
  candidates: [],
  ...over,
});

export const patch = (topic: Topic, full: boolean, tables: Tables): Patch => ({
  type: "patch",
  topic,
  version: 1,
  full,
  time_ns: NOW_NS,
  tables,
});
