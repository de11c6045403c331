import { useTable } from "../../api/hooks";
import { useWords } from "../../i18n";
import ui from "../../ui/ui.module.css";
import { useTimeline } from "./state";
import { clockTime, duration } from "./times";

/** What is selected, for who hears the page. */
export function Said() {
  const { timeline: t } = useWords();
  const place = useTimeline((state) => (state.selected ? state.place : null));
  const lane = useTable("lanes").get(place?.lane_id ?? "");
  const group = useTable("groups").get(lane?.group_id ?? "");
  const where = [group?.name, lane?.label].filter(Boolean).join(" ");
  return (
    <span className={ui.hidden} role="status" data-testid="timeline-said">
      {place ? t.said(where, clockTime(place.from_ns, 1e9), duration(place.to_ns - place.from_ns)) : ""}
    </span>
  );
}
