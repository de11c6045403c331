import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  type RouterHistory,
  redirect,
} from "@tanstack/react-router";
import { Debugger } from "../features/debugger/Debugger";
import { Overview } from "../features/overview/Overview";
import { Timeline } from "../features/timeline/Timeline";
import { parseSearch, stringifySearch, validateSearch } from "../ui/search";
import { Shell } from "./Shell";

const root = createRootRoute({ component: Shell, validateSearch, notFoundComponent: Overview });

const overview = createRoute({ getParentRoute: () => root, path: "/overview", component: Overview });

const timeline = createRoute({ getParentRoute: () => root, path: "/timeline", component: Timeline });

const debuggerRoute = createRoute({ getParentRoute: () => root, path: "/debugger", component: Debugger });

const index = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: ({ search }) => {
    throw redirect({ to: "/overview", search: search as never, replace: true });
  },
});

/** Views live behind `#/…`: the URL is the state, and no server sees it. */
export function makeRouter(history: RouterHistory = createHashHistory()) {
  return createRouter({
    routeTree: root.addChildren([index, overview, timeline, debuggerRoute]),
    history,
    parseSearch,
    stringifySearch,
    defaultPendingMs: 0,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
