import { useEffect } from "react";
import { connection } from "./connection";
import { useCluster } from "./stores";
import type { Rows } from "./tables";
import type { Topic } from "./types.gen";

export function useTopic(topic: Topic): void {
  useEffect(() => connection.subscribe(topic), [topic]);
}

export function useTable<Name extends keyof Rows>(name: Name): Rows[Name] {
  return useCluster((s) => s.rows[name]);
}

export const useLoaded = (topic: Topic): boolean => useCluster((s) => s.loaded.has(topic));
