// Shows a part of a view alone, at a place of the router: links work, nothing else is on the page.
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { act, render } from "@testing-library/react";
import type { ReactNode } from "react";
import { en, WordsProvider } from "../src/i18n";
import { parseSearch, stringifySearch, validateSearch } from "../src/ui/search";

export async function showAlone(part: ReactNode, at = "/timeline"): Promise<void> {
  const root = createRootRoute({ validateSearch, component: () => part });
  const paths = ["/timeline", "/overview", "/debugger"].map((path) =>
    createRoute({ getParentRoute: () => root, path }),
  );
  const history = createMemoryHistory({ initialEntries: [at] });
  const router = createRouter({ routeTree: root.addChildren(paths), history, parseSearch, stringifySearch });
  await act(async () => {
    render(
      <WordsProvider words={en}>
        <RouterProvider router={router as never} />
      </WordsProvider>,
    );
    await router.load();
  });
}
