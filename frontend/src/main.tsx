import "./app/boot";
import "./ui/tokens.css";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { startClock } from "./api/clock";
import { connection } from "./api/connection";
import { takeTokenFromAddress } from "./api/token";
import { makeRouter } from "./app/router";
import { followSystemTheme } from "./app/theme";
import { en, WordsProvider } from "./i18n";

// A link pasted into a tab that shows the page already changes the fragment alone: nothing is loaded anew. Heard before
// the router, which would take the token for a view.
window.addEventListener("popstate", () => {
  if (takeTokenFromAddress()) connection.reconnect();
});
followSystemTheme();
startClock();
connection.start();

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <WordsProvider words={en}>
        <RouterProvider router={makeRouter()} />
      </WordsProvider>
    </StrictMode>,
  );
}
