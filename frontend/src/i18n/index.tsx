import { createContext, type ReactNode, useContext } from "react";
import { type Catalog, en } from "./en";

const Words = createContext<Catalog>(en);

export function WordsProvider({ words, children }: { words: Catalog; children: ReactNode }) {
  return <Words value={words}>{children}</Words>;
}

/** The words of the language in use. */
export const useWords = (): Catalog => useContext(Words);

export { type Catalog, en };
