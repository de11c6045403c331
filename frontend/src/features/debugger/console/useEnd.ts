import { type UIEvent, useCallback, useEffect, useLayoutEffect, useRef } from "react";

const NEAR_PX = 24;

/**
 * A box that stays at its end unless one has scrolled up; it goes there too when `wanted` changes. `inner` is all that
 * is in the box. What comes into view gets its height only then (content-visibility), and trees unfold: so the end is
 * gone to whenever either changes its height, and only scrolling up leaves it, never an end that has moved on.
 */
export function useEnd(wanted: unknown, more: unknown) {
  const box = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const last = useRef(0);
  const follow = useCallback(() => {
    const { current } = box;
    if (!current || !atEnd.current) return;
    current.scrollTop = current.scrollHeight;
    last.current = current.scrollTop;
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each time it is wanted
  useLayoutEffect(() => {
    atEnd.current = true;
    follow();
  }, [wanted, follow]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever there is more
  useLayoutEffect(follow, [more, follow]);
  useEffect(() => {
    const observer = new ResizeObserver(follow);
    for (const { current } of [box, inner]) if (current) observer.observe(current);
    return () => observer.disconnect();
  }, [follow]);
  const onScroll = (event: UIEvent<HTMLDivElement>) => {
    const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
    if (scrollHeight - scrollTop - clientHeight < NEAR_PX) atEnd.current = true;
    else if (scrollTop < last.current) atEnd.current = false;
    last.current = scrollTop;
  };
  return { box, inner, onScroll };
}
