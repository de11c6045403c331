import { useSyncExternalStore } from "react";

const THREE = "(min-width: 1700px)";
const ONE = "(max-width: 899px)";

function subscribe(changed: () => void): () => void {
  const queries = [THREE, ONE].map((query) => window.matchMedia(query));
  for (const query of queries) query.addEventListener("change", changed);
  return () => {
    for (const query of queries) query.removeEventListener("change", changed);
  };
}

/** How many WorkerGroups stand side by side. */
export const useColumns = (): number =>
  useSyncExternalStore(subscribe, () =>
    window.matchMedia(THREE).matches ? 3 : window.matchMedia(ONE).matches ? 1 : 2,
  );
